"""Caches of ranks: where they lie, whose they are and what made them; and the hub's token, and room for logs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import CacheFolder, Caches, HostFacts, Mount
from playbooks.checks import (
    sto_cache_env,
    sto_cache_perms,
    sto_cache_same_path,
    sto_cache_stamp,
    sto_cache_symmetric,
    sto_hub_auth,
    sto_jit_cache_local,
    sto_log_space,
)
from playbooks.finding import Status
from playbooks.requirements import Build, HostRequirements, Layout, Requirements, Space
from tests.unit.playbooks.checks.cases import HUNG, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.gang import GIB, alone, cpu_needs, gang_needs, known, tray, tray_needs, trays

NOT_ASKED = Unknown(Why.NOT_ASKED)
LOCAL = (Mount("/", "ext4", "/dev/vda"),)
SHARED = (*LOCAL, Mount("/cache", "nfs4", "nas:/export"))
ON_CACHE = (("HOME", "/home/serve"), ("VLLM_CACHE_ROOT", "/cache/vllm"), ("TRITON_CACHE_DIR", "/cache/triton"))


def lying_on(**mounts: tuple[Mount, ...]) -> dict[str, HostFacts]:
    return {host: replace(tray(host), mounts=mounts.get(host, LOCAL), file_systems=()) for host in trays()}


def told(needs: Requirements, *env: tuple[str, str]) -> Requirements:
    return replace(needs, hosts=tuple(replace(one, env=env) for one in needs.hosts))


OF_OWN = (*LOCAL, Mount("/cache", "nfs4", "nas:/tray2"))


@gang_table(
    GangCase("local", Status.PASS, lying_on(), told(gang_needs(), *ON_CACHE), says=("VLLM_CACHE_ROOT",)),
    GangCase(
        "shared",
        Status.FAIL,
        lying_on(tray1=SHARED, tray2=SHARED),
        told(gang_needs(), *ON_CACHE, ("TORCHINDUCTOR_CACHE_DIR", "/var/tmp/i")),
        blamed=("tray1", "tray2"),
        says=("VLLM_CACHE_ROOT=/cache/vllm is on nfs4 (nas:/export)", "TRITON_CACHE_DIR", "inventory/hosts.yaml"),
    ),
    GangCase("each its own share", Status.WARN, lying_on(tray1=SHARED, tray2=OF_OWN), told(gang_needs(), *ON_CACHE)),
    GangCase(
        "the home folder", Status.FAIL, lying_on(tray1=SHARED, tray2=SHARED), told(gang_needs(), ("HOME", "/cache/h"))
    ),
    GangCase("alone", Status.SKIP, {"tray1": tray()}, alone(tray_needs())),
    GangCase("no environment planned", Status.SKIP, lying_on()),
    GangCase(
        "not asked",
        Status.SKIP,
        {h: replace(one, file_systems=()) for h, one in trays().items()},
        told(gang_needs(), *ON_CACHE),
    ),
    GangCase(
        "unreadable",
        Status.UNKNOWN,
        {h: replace(one, file_systems=(), mounts=HUNG) for h, one in trays().items()},
        told(gang_needs(), *ON_CACHE),
    ),
)
def test_local_caches(case: GangCase) -> None:
    assert_gang(sto_jit_cache_local, case)


FOLDER = "vllm/flashinfer_autotune_cache/0.7.2/100a"


def tuned(*ranks: tuple[int, int], folder: str = "ab12") -> tuple[str, ...]:
    return tuple(f"{FOLDER}/{folder}/autotune_configs_dp{dp}_rank{rank}.json" for dp, rank in ranks)


def caching(tray1: tuple[str, ...], tray2: tuple[str, ...], *, empty: bool = False) -> dict[str, HostFacts]:
    return {
        "tray1": replace(tray("tray1"), caches=Caches(empty, tray1, None)),
        "tray2": replace(tray("tray2"), caches=Caches(empty, tray2, None)),
    }


# One rank of eight GPUs over two trays, and eight ranks of one GPU.
WIDE = replace(gang_needs(), data_parallel_size=1, ranks=("tray1",), layout=Layout(tensor_parallel=8, data_parallel=1))
DEEP = replace(gang_needs(), layout=Layout(tensor_parallel=1, data_parallel=8))
FIRST, SECOND = tuple((0, rank) for rank in range(4)), tuple((0, rank) for rank in range(4, 8))


@gang_table(
    GangCase("of all ranks", Status.PASS, caching(tuned(*FIRST), tuned(*SECOND)), WIDE, says=("1 sets",)),
    GangCase("of all ranks on all hosts", Status.PASS, caching(tuned(*FIRST, *SECOND), tuned(*FIRST, *SECOND)), WIDE),
    GangCase(
        "of the first rank alone",
        Status.FAIL,
        caching(tuned((0, 0)), ()),
        WIDE,
        says=("tray1 has those of 1 of its 4 ranks", "tray2 has those of 0", "dp0 rank 0", "mv"),
    ),
    GangCase("of one host alone", Status.FAIL, caching(tuned(*FIRST), ()), WIDE),
    GangCase("of another host's ranks alone", Status.PASS, caching(tuned(*SECOND), tuned(*FIRST)), WIDE),
    GangCase(
        "by data-parallel rank",
        Status.PASS,
        caching(tuned(*((dp, 0) for dp in range(4))), tuned(*((dp, 0) for dp in range(4, 8)))),
        DEEP,
    ),
    GangCase(
        "by data-parallel rank, one lacks",
        Status.FAIL,
        caching(tuned(*((dp, 0) for dp in range(4))), tuned((4, 0))),
        DEEP,
    ),
    GangCase(
        "a folder for each rank",
        Status.PASS,
        caching(
            tuple(path for dp in range(4) for path in tuned((dp, 0), folder=f"f{dp}")),
            tuple(path for dp in range(4, 8) for path in tuned((dp, 0), folder=f"f{dp}")),
        ),
        DEEP,
    ),
    GangCase("all cold", Status.WARN, caching((), (), empty=True), WIDE, says=("cold",)),
    GangCase("other files alone", Status.PASS, caching(("vllm/x/rank_0_0/model",), ()), WIDE),
    GangCase(
        "one rank",
        Status.SKIP,
        {"tray1": tray()},
        replace(alone(tray_needs()), layout=Layout(tensor_parallel=1, data_parallel=1)),
    ),
    GangCase("no GPU", Status.SKIP, caching((), ()), replace(WIDE, hosts=(replace(cpu_needs(), argv=("vllm",)),))),
    GangCase("not told", Status.SKIP, caching((), ())),
    GangCase("not asked", Status.SKIP, trays(), WIDE),
    GangCase(
        "unreadable",
        Status.UNKNOWN,
        caching((), ()) | {"tray2": replace(tray("tray2"), caches=HUNG)},
        WIDE,
        blamed=("tray2",),
    ),
)
def test_tuned_for_all_ranks_or_none(case: GangCase) -> None:
    assert_gang(sto_cache_symmetric, case)


BUILD = Build(packages=(("vllm", "0.33.0"), ("torch", "2.14.0"), ("triton", "3.8.0")))
STAMP = (
    ("vllm", "0.33.0"),
    ("torch", "2.14.0+cu130"),
    ("home", "/s/caches"),
    ("path", "/s/caches/vllm"),
    ("user", "ops"),
)


def stamped(*stamp: tuple[str, str], empty: bool = False, bare: bool = False) -> dict[str, HostFacts]:
    return {host: replace(tray(host), caches=Caches(empty, (), None if bare else stamp)) for host in trays()}


@gang_table(
    GangCase("of this build", Status.PASS, stamped(*STAMP), replace(gang_needs(), build=BUILD)),
    GangCase("empty", Status.PASS, stamped(empty=True), replace(gang_needs(), build=BUILD)),
    GangCase(
        "without a stamp",
        Status.WARN,
        stamped(bare=True),
        replace(gang_needs(), build=BUILD),
        says=("without a stamp", "mv"),
    ),
    GangCase(
        "of another torch",
        Status.WARN,
        stamped(("torch", "2.13.0")),
        replace(gang_needs(), build=BUILD),
        says=("torch 2.13.0, not 2.14.0",),
    ),
    GangCase("not asked", Status.SKIP),
    GangCase("no GPU", Status.SKIP, stamped(bare=True), alone(cpu_needs())),
)
def test_stamp(case: GangCase) -> None:
    assert_gang(sto_cache_stamp, case)


def of_builds(*builds: str, artefacts: tuple[str, ...] = ()) -> dict[str, HostFacts]:
    folders = tuple(CacheFolder(f"/s/caches/{name}", (("torch", name),), (("VLLM_A", name),)) for name in builds)
    caches = Caches(empty=False, artefacts=artefacts, stamp=None, folders=folders)
    return {host: replace(tray(host), caches=caches) for host in trays()}


def with_caches(build: str, needs: Requirements | None = None) -> Requirements:
    return told(needs or replace(gang_needs(), build=BUILD), ("VLLM_CACHE_ROOT", f"/s/caches/{build}/vllm"))


@gang_table(
    GangCase("its own folder", Status.PASS, of_builds("2.14.0", "2.13.0"), with_caches("2.14.0")),
    GangCase("another build's alone", Status.PASS, of_builds("2.13.0"), with_caches("2.14.0"), says=("no caches",)),
    GangCase("a folder that lies", Status.WARN, of_builds("2.13.0"), with_caches("2.13.0"), says=("torch 2.13.0",)),
)
def test_each_build_has_its_own_caches(case: GangCase) -> None:
    assert_gang(sto_cache_stamp, case)


UNEVEN = tuple(f"old/{path}" for path in tuned((0, 0)))


@gang_table(
    GangCase("of another build", Status.PASS, of_builds("old", "new", artefacts=UNEVEN), with_caches("new", WIDE)),
    GangCase("of this build", Status.FAIL, of_builds("old", "new", artefacts=UNEVEN), with_caches("old", WIDE)),
)
def test_what_another_build_tuned_does_not_matter(case: GangCase) -> None:
    assert_gang(sto_cache_symmetric, case)


HERE = told(gang_needs(), ("HOME", "/s/caches"), ("VLLM_CACHE_ROOT", "/s/caches/vllm"))


@gang_table(
    GangCase("the same path", Status.PASS, stamped(*STAMP), HERE),
    GangCase(
        "another path", Status.WARN, stamped(("path", "/other")), HERE, says=("path was /other, is /s/caches/vllm",)
    ),
    GangCase("another user", Status.WARN, stamped(("user", "baker")), HERE),
    GangCase("another path, strict", Status.FAIL, stamped(("path", "/other")), replace(HERE, vllm_version="0.24.0")),
    GangCase("no stamp", Status.SKIP, stamped(bare=True), HERE),
    GangCase("no environment", Status.SKIP, stamped(*STAMP)),
)
def test_same_path(case: GangCase) -> None:
    assert_gang(sto_cache_same_path, case)


@pytest.mark.parametrize(("vllm", "strict"), [("0.24.0", True), ("0.25.0", False), ("1.0.0", False), ("", False)])
def test_which_vllm_is_strict(vllm: str, *, strict: bool) -> None:
    assert sto_cache_same_path.is_strict(vllm) is strict


def made_with(*env: tuple[str, str]) -> HostFacts:
    return replace(tray(), caches=Caches(empty=False, artefacts=(), stamp=(), environment=env))


LAUNCHED = replace(
    tray_needs(), env=(("VLLM_ENGINE_READY_TIMEOUT_S", "3600"), ("VLLM_HOST_IP", "10.0.0.1"), ("HOME", "/x"))
)


@table(
    Case(
        "the same",
        Status.PASS,
        made_with(("VLLM_ENGINE_READY_TIMEOUT_S", "3600"), ("VLLM_HOST_IP", "10.9.9.9")),
        LAUNCHED,
    ),
    Case(
        "another value",
        Status.WARN,
        made_with(("VLLM_ENGINE_READY_TIMEOUT_S", "600")),
        LAUNCHED,
        says=("was 600, is 3600",),
    ),
    Case("one is gone", Status.WARN, made_with(), LAUNCHED, says=("was not set, is 3600",)),
    Case(
        "not written down", Status.SKIP, replace(tray(), caches=Caches(empty=False, artefacts=(), stamp=None)), LAUNCHED
    ),
    Case("not asked", Status.SKIP, needs=LAUNCHED),
)
def test_environment_of_caches(case: Case) -> None:
    assert_host(sto_cache_env, case)


ROOT = known(tray().file_systems)[0]
CACHED = replace(tray_needs(), env=(("VLLM_CACHE_ROOT", "/cache/vllm"),))


def asked(path: str, *, writable: bool) -> HostFacts:
    return replace(tray(), file_systems=(replace(ROOT, asked=path, writable=writable),))


@table(
    Case("writable", Status.PASS, asked("/cache/vllm", writable=True), CACHED),
    Case(
        "closed",
        Status.FAIL,
        asked("/cache/vllm", writable=False),
        CACHED,
        says=("VLLM_CACHE_ROOT=/cache/vllm", "root_squash"),
    ),
    Case("nobody asked", Status.SKIP, asked("/other", writable=False), CACHED),
    Case("no cache planned", Status.SKIP),
    Case("unreadable", Status.SKIP, replace(tray(), file_systems=HUNG), CACHED),
)
def test_cache_permissions(case: Case) -> None:
    assert_host(sto_cache_perms, case)


LOGS = replace(tray_needs(), space=(Space("/var/lib/bringup", 1, "state"),))


@table(
    Case("enough", Status.PASS, needs=LOGS),
    Case(
        "little",
        Status.WARN,
        replace(tray(), file_systems=(replace(ROOT, free_bytes=4 * GIB),)),
        LOGS,
        says=("4.3 GB free",),
    ),
    Case("no state planned", Status.SKIP, needs=replace(tray_needs(), space=())),
    Case("not asked", Status.SKIP, replace(tray(), file_systems=()), LOGS),
    Case("unreadable", Status.SKIP, replace(tray(), file_systems=HUNG), LOGS),
)
def test_room_for_logs(case: Case) -> None:
    assert_host(sto_log_space, case)


YES, HALF, NO = [True, True], [True, False], [False, False]


def tokens(*values: object) -> dict[str, HostFacts]:
    return {host: replace(tray(host), hub_token=value) for host, value in zip(trays(), values, strict=True)}  # type: ignore[arg-type]


def nothing_to_fetch() -> Requirements:
    hosts: tuple[HostRequirements, ...] = tuple(replace(one, space=()) for one in gang_needs().hosts)
    return replace(gang_needs(), hosts=hosts)


@gang_table(
    GangCase("both", Status.PASS, tokens(*YES)),
    GangCase(
        "one of two",
        Status.WARN,
        tokens(*HALF),
        says=("2 hosts fetch weights, without a token: tray2", "hf auth login"),
    ),
    GangCase("alone without", Status.PASS, {"tray1": replace(tray(), hub_token=False)}, alone(tray_needs())),
    GangCase("nothing to fetch", Status.SKIP, tokens(*NO), nothing_to_fetch()),
    GangCase("not asked", Status.SKIP),
    GangCase("unreadable", Status.SKIP, tokens(HUNG, HUNG)),
)
def test_tokens(case: GangCase) -> None:
    assert_gang(sto_hub_auth, case)
