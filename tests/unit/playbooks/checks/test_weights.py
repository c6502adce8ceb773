"""Weights on disk, and whether all hosts have the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import FileLock, FileSystem, HostFacts, Mount, StoredFile, WeightFolder
from playbooks.checks import (
    sto_aux_files,
    sto_complete,
    sto_lfs_pointer,
    sto_locks,
    sto_path_in_context,
    sto_same_everywhere,
    sto_space,
    sto_weights_fs,
)
from playbooks.finding import Status
from playbooks.requirements import Container, ExpectedWeights, HostRequirements, Requirements, Space, WeightFile
from tests.unit.playbooks.checks.cases import HUNG, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.gang import GB, alone, gang_needs, known, tray, tray_needs, trays

PATH = "/var/lib/bringup/weights/org--m/abc"
FILES = (
    StoredFile("config.json", 1843, "d0"),
    StoredFile("model-1.safetensors", 5000, "d1"),
    StoredFile("model-2.safetensors", 5000, "d2"),
    StoredFile("tokenizer.json", 10, "d3"),
)
WHOLE = WeightFolder(PATH, FILES, damaged=(), manifest=FILES)
NEEDS = replace(tray_needs(), weights=ExpectedWeights("org/m", "abc", PATH), space=())
NOT_ASKED = Unknown(Why.NOT_ASKED)


def holding(host: str = "tray1", **fields: Any) -> HostFacts:  # noqa: ANN401  (those of a folder)
    return replace(tray(host), weight_folders=(replace(WHOLE, **fields),))


def without(*paths: str, **sizes: int) -> tuple[StoredFile, ...]:
    changed = {name.replace("_", "-") + ".safetensors": size for name, size in sizes.items()}
    return tuple(replace(one, size=changed.get(one.path, one.size)) for one in FILES if one.path not in paths)


def fetching(needs: HostRequirements = NEEDS) -> HostRequirements:
    return replace(needs, space=(Space(PATH, 10_000, "weights"),))


UNREAD = Case("unreadable", Status.UNKNOWN, replace(tray(), weight_folders=HUNG), NEEDS)
UNASKED = Case("not asked", Status.SKIP, needs=NEEDS)
NO_WEIGHTS = Case("no weights planned", Status.SKIP, holding())
FETCHED = Case("to be fetched", Status.SKIP, replace(tray(), weight_folders=()), fetching())


@table(
    Case("whole", Status.PASS, holding(), NEEDS, says=("4 files",)),
    Case("whole, with a plan that would fetch", Status.PASS, holding(), fetching()),
    Case("headers not read", Status.PASS, holding(damaged=None), NEEDS, says=("no Python",)),
    Case(
        "short",
        Status.FAIL,
        holding(files=without(model_2=4070)),
        NEEDS,
        says=("model-2.safetensors has 4070 of 5000 bytes", "fetches those alone"),
    ),
    Case(
        "missing",
        Status.FAIL,
        holding(files=without("model-1.safetensors")),
        NEEDS,
        says=("model-1.safetensors is missing",),
    ),
    Case(
        "empty", Status.FAIL, holding(files=without(model_1=0), manifest=without(model_1=0)), NEEDS, says=("is empty",)
    ),
    Case("a header that does not fit", Status.FAIL, holding(damaged=("model-1.safetensors: 5000 bytes, ...",)), NEEDS),
    Case(
        "left of a download", Status.FAIL, holding(partial=("model-3.incomplete",)), NEEDS, says=("model-3.incomplete",)
    ),
    Case("not there", Status.FAIL, replace(tray(), weight_folders=()), NEEDS, says=(PATH,)),
    Case(
        "of the lab, without headers", Status.PASS, holding(damaged=("model-1.safetensors: x",), simulated=True), NEEDS
    ),
    Case("no list", Status.SKIP, holding(manifest=None), NEEDS),
    Case("a partial folder that is being fetched", Status.SKIP, holding(manifest=None, partial=("x",)), fetching()),
    Case("another folder", Status.FAIL, holding(path="/var/lib/bringup/weights/org--m/def"), NEEDS),
    UNREAD,
    UNASKED,
    NO_WEIGHTS,
    FETCHED,
)
def test_complete(case: Case) -> None:
    assert_host(sto_complete, case)


def test_the_plans_own_list_counts_before_the_hosts() -> None:
    files = tuple(WeightFile(one.path, one.size) for one in FILES)
    needs = replace(NEEDS, weights=ExpectedWeights("org/m", None, None, (*files, WeightFile("more.json", 1))))
    finding = sto_complete.check(holding(), needs)
    assert (finding.status, finding.observed) == (Status.FAIL, "more.json is missing")


def test_many_faults_are_counted() -> None:
    finding = sto_complete.check(holding(files=()), NEEDS)
    assert finding.observed.endswith("; and 1 more")


@table(
    Case("none", Status.PASS, holding(), NEEDS),
    Case("pointers", Status.FAIL, holding(pointers=("model-1.safetensors",)), NEEDS, says=("hf download",)),
    Case("not there", Status.SKIP, replace(tray(), weight_folders=()), NEEDS),
    UNREAD,
    UNASKED,
    NO_WEIGHTS,
    FETCHED,
)
def test_lfs_pointers(case: Case) -> None:
    assert_host(sto_lfs_pointer, case)


OFFLINE = replace(NEEDS, env=(("HF_HUB_OFFLINE", "1"),))


@table(
    Case("all there", Status.PASS, holding(), OFFLINE),
    Case(
        "no configuration", Status.FAIL, holding(files=without("config.json")), OFFLINE, says=("config.json missing",)
    ),
    Case("of the lab", Status.SKIP, holding(files=(), simulated=True), OFFLINE, says=("simulated",)),
    Case("no tokenizer", Status.FAIL, holding(files=without("tokenizer.json")), OFFLINE, says=("tokenizer",)),
    Case("ranks may fetch it", Status.WARN, holding(files=without("config.json")), NEEDS),
    Case(
        "a listed one is missing",
        Status.FAIL,
        holding(manifest=(*FILES, StoredFile("encoding/encoding_v4.py", 5))),
        OFFLINE,
        says=("encoding/encoding_v4.py",),
    ),
    Case(
        "a tokenizer of another kind",
        Status.PASS,
        holding(files=(*without("tokenizer.json"), StoredFile("tekken.json", 1)), manifest=None),
        OFFLINE,
    ),
    UNREAD,
    UNASKED,
    NO_WEIGHTS,
    FETCHED,
)
def test_small_files(case: Case) -> None:
    assert_host(sto_aux_files, case)


def lock(path: str, *, age_s: int = 5000, holder: int | None = None) -> HostFacts:
    return replace(tray(), locks=(FileLock(path, age_s, 0, holder),))


@table(
    Case("none", Status.PASS, replace(tray(), locks=())),
    Case(
        "left of a download", Status.WARN, lock("/w/x.incomplete", age_s=1), says=("x.incomplete", "when no download")
    ),
    Case("a download that goes on", Status.PASS, lock("/w/x.incomplete", holder=9)),
    Case("of aiter", Status.WARN, lock("/c/aiter_configs/tuned.csv.lock"), says=("83 min old",)),
    Case("of aiter, young", Status.PASS, lock("/c/aiter_configs/tuned.csv.lock", age_s=60)),
    Case("of torch's extensions", Status.WARN, lock("/c/torch_extensions/py312/x/lock")),
    Case("one that stays on purpose", Status.PASS, lock("/w/.cache/huggingface/download/a.lock")),
    Case("unreadable", Status.UNKNOWN, replace(tray(), locks=HUNG)),
    Case("not asked", Status.SKIP),
)
def test_locks(case: Case) -> None:
    assert_host(sto_locks, case)


def mounted(type_: str, *options: str, at: str = "/var/lib/bringup") -> HostFacts:
    mounts = (Mount("/", "ext4", "/dev/vda"), Mount(at, type_, "nas:/export", options))
    return replace(tray(), mounts=mounts, file_systems=())


HUB = replace(tray_needs(), weights=None, env=(("HF_HOME", "/cache/hf"),))


@table(
    Case("local", Status.PASS, mounted("xfs"), NEEDS, says=("xfs",)),
    Case("NFS", Status.WARN, mounted("nfs4"), NEEDS, says=("nfs4 (nas:/export)", "prefetch")),
    Case("fuse", Status.WARN, mounted("fuse.juicefs"), NEEDS),
    Case("the hub's cache on NFS", Status.WARN, mounted("nfs4", at="/cache"), HUB),
    Case("the hub's cache without locks", Status.FAIL, mounted("cifs", at="/cache"), HUB, says=("without file locks",)),
    Case("Lustre without flock", Status.FAIL, mounted("lustre", "rw", at="/cache"), HUB),
    Case("Lustre with flock", Status.WARN, mounted("lustre", "rw", "flock", at="/cache"), HUB),
    Case("weights on Lustre", Status.WARN, mounted("lustre", "rw"), NEEDS),
    Case("as df told", Status.PASS, tray(), NEEDS),
    Case("no path planned", Status.SKIP, mounted("nfs4")),
    Case("not asked", Status.SKIP, replace(tray(), file_systems=()), NEEDS),
    Case("unreadable", Status.UNKNOWN, replace(tray(), file_systems=(), mounts=HUNG), NEEDS),
)
def test_file_system_of_weights(case: Case) -> None:
    assert_host(sto_weights_fs, case)


def gang(needs: HostRequirements = NEEDS, **fields: Any) -> Requirements:  # noqa: ANN401
    hosts = tuple(replace(needs, host=one.host) for one in gang_needs().hosts)
    return replace(gang_needs(), hosts=hosts, **fields)


BOTH = {"tray1": holding(), "tray2": holding("tray2")}


@gang_table(
    GangCase("the same", Status.PASS, BOTH, gang(), says=("same 4 files",)),
    GangCase(
        "another size",
        Status.FAIL,
        BOTH | {"tray2": holding("tray2", files=without(model_2=4070))},
        gang(),
        says=("tray2 differs from tray1 in model-2.safetensors", "copy it from tray1"),
    ),
    GangCase(
        "another digest",
        Status.FAIL,
        BOTH | {"tray2": holding("tray2", manifest=(replace(FILES[0], sha256="dX"), *FILES[1:]))},
        gang(),
        says=("config.json",),
    ),
    GangCase("on one host so far", Status.SKIP, BOTH | {"tray2": replace(tray("tray2"), weight_folders=())}, gang()),
    GangCase("one is being fetched", Status.SKIP, BOTH | {"tray2": holding("tray2", manifest=None)}, gang(fetching())),
    GangCase("alone", Status.SKIP, {"tray1": holding()}, alone(NEEDS)),
    GangCase(
        "unreadable",
        Status.UNKNOWN,
        BOTH | {"tray2": replace(tray("tray2"), weight_folders=HUNG)},
        gang(),
        blamed=("tray2",),
    ),
    GangCase("not asked", Status.SKIP, trays(), gang()),
)
def test_same_everywhere(case: GangCase) -> None:
    assert_gang(sto_same_everywhere, case)


def in_container(*arguments: str) -> Requirements:
    return gang(container=Container(image="i", arguments=arguments))


LINKED = BOTH | {"tray2": holding("tray2", outside=("model-1.safetensors -> /data/blobs/x",))}


@gang_table(
    GangCase("readable", Status.PASS, BOTH, gang()),
    GangCase(
        "unreadable file",
        Status.FAIL,
        BOTH | {"tray2": holding("tray2", unreadable=("a", "b"))},
        gang(),
        blamed=("tray2",),
    ),
    GangCase("empty mount", Status.FAIL, BOTH | {"tray2": holding("tray2", files=())}, gang(), says=("is empty",)),
    GangCase("no configuration", Status.FAIL, BOTH | {"tray2": holding("tray2", files=without("config.json"))}, gang()),
    GangCase("a link that leads out, without a container", Status.PASS, LINKED, gang()),
    GangCase("mounted", Status.PASS, BOTH, in_container("-v", "/var/lib/bringup:/var/lib/bringup:ro")),
    GangCase(
        "not mounted", Status.FAIL, BOTH, in_container("-v", "/data:/data"), says=("no mount of the container holds",)
    ),
    GangCase(
        "a link that leads out of the mount",
        Status.FAIL,
        LINKED,
        in_container("--mount=type=bind,source=/var/lib/bringup,target=/m"),
        blamed=("tray2",),
        says=("-> /data/blobs/x leads out",),
    ),
    GangCase("arguments not told", Status.PASS, BOTH, gang(container=Container(image="i"))),
    GangCase("to be fetched", Status.SKIP, {h: replace(tray(h), weight_folders=()) for h in BOTH}, gang(fetching())),
    GangCase("unreadable", Status.UNKNOWN, BOTH | {"tray2": replace(tray("tray2"), weight_folders=HUNG)}, gang()),
    GangCase("not asked", Status.SKIP, trays(), gang()),
)
def test_readable_where_ranks_run(case: GangCase) -> None:
    assert_gang(sto_path_in_context, case)


def free(size: int) -> HostFacts:
    disk = FileSystem("/data", "/data", "xfs", 4000 * GB, size, None, writable=True)
    return replace(tray(), file_systems=(disk,))


def listed(path: str | None, *sizes: int) -> HostRequirements:
    files = tuple(WeightFile(f"model-{at}", size) for at, size in enumerate(sizes))
    return replace(tray_needs(), space=(), weights=ExpectedWeights("o/m", "abc", path, files))


def stored(size: int, *sizes: int) -> HostFacts:
    files = tuple(StoredFile(f"model-{at}", one) for at, one in enumerate(sizes))
    return replace(free(size), weight_folders=(WeightFolder("", files),))


@table(
    Case("all there", Status.PASS, stored(147 * GB, 200 * GB, 186 * GB), listed(None, 200 * GB, 186 * GB)),
    Case("half there", Status.FAIL, stored(147 * GB, 200 * GB), listed(None, 200 * GB, 186 * GB), says=("186.0 GB",)),
    Case("half there, room", Status.PASS, stored(500 * GB, 200 * GB), listed(None, 200 * GB, 186 * GB)),
    Case(
        "no room for the file being written", Status.FAIL, stored(200 * GB, 200 * GB), listed(None, 200 * GB, 186 * GB)
    ),
    Case("short ones are fetched again", Status.FAIL, stored(147 * GB, 200 * GB, 9), listed(None, 200 * GB, 186 * GB)),
)
def test_only_what_is_missing_needs_room(case: Case) -> None:
    assert_host(sto_space, case)


def test_bytes_that_are_there_are_not_counted_again() -> None:
    part = WeightFolder(PATH, (StoredFile("a", 800 * GB),))
    root = known(tray().file_systems)[0]
    facts = replace(tray(), weight_folders=(part,), file_systems=(replace(root, free_bytes=120 * GB),))
    needs = replace(NEEDS, space=(Space(PATH, 865 * GB, "weights"),))
    finding = sto_space.check(facts, needs)
    assert finding.status is Status.PASS
    assert "65.0 GB will be written" in finding.observed


@pytest.mark.parametrize("path", ["/data/w", None])
def test_a_plan_without_a_path_means_the_one_disk(path: str | None) -> None:
    assert sto_space.check(free(10 * GB), listed(path, 20 * GB)).status is Status.FAIL
