"""The checks that compare hosts with each other or the plan with itself."""

from __future__ import annotations

from dataclasses import replace

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Environment, HostFacts
from playbooks.checks import (
    ctl_same_machine_twice,
    gpu_uniform,
    os_arch,
    os_clock,
    plan_flags_parse,
    plan_rank_cover,
    rt_supervisor,
    rt_version_lock,
)
from playbooks.finding import Status
from playbooks.requirements import Processes
from tests.unit.playbooks.checks.cases import (
    NO_TOOL,
    Case,
    GangCase,
    assert_gang,
    assert_host,
    gang_table,
    table,
)
from tests.unit.playbooks.checks.gang import (
    ENVIRONMENT,
    alone,
    change,
    cpu_host,
    cpu_needs,
    gang_needs,
    gpu,
    tray,
    tray_needs,
    trays,
    with_host,
)

Gang = dict[str, HostFacts]
LOST: Gang = {"tray1": tray("tray1")}
NO_SYSTEM: Gang = trays() | {"tray2": replace(tray("tray2"), system=NO_TOOL)}
ALONE = alone(tray_needs())


def second(subject: str, **fields: object) -> Gang:
    """The gang with something changed on tray2."""
    return trays() | {"tray2": change(tray("tray2"), subject, **fields)}


def clocks(*offsets: float) -> Gang:
    """The gang with these clock offsets in seconds."""
    hosts = zip(trays().items(), offsets, strict=False)
    return {host: change(facts, "system", clock_offset_s=offset) for (host, facts), offset in hosts}


@gang_table(
    GangCase("good", Status.PASS),
    GangCase("95 s ahead", Status.FAIL, clocks(0.0, 95.0), blamed=("tray2",), says=("95.0 s ahead",)),
    GangCase("behind", Status.FAIL, clocks(-61.0, 0.0), blamed=("tray1",), says=("61.0 s behind",)),
    GangCase("a little", Status.WARN, clocks(0.0, 1.5), blamed=("tray2",)),
    GangCase("opposite ways, each bearable", Status.FAIL, clocks(-40.0, 40.0), blamed=("",), says=("80.0 s",)),
    GangCase("the control machine is wrong", Status.WARN, clocks(95.0, 95.3), blamed=("",), says=("-95.2 s off",)),
    GangCase("one host, wrong", Status.FAIL, clocks(95.0), needs=ALONE, blamed=("tray1",)),
    GangCase("unreadable", Status.UNKNOWN, NO_SYSTEM, blamed=("tray2",)),
    GangCase("no facts", Status.UNKNOWN, LOST, blamed=("tray2",)),
)
def test_clock(case: GangCase) -> None:
    assert_gang(os_clock, case)


@gang_table(
    GangCase("alike", Status.PASS),
    GangCase("mixed", Status.FAIL, second("system", architecture="x86_64"), says=("x86_64 on tray2",)),
    GangCase("no build", Status.FAIL, {"tray1": change(tray(), "system", architecture="riscv64")}, ALONE),
    GangCase("unreadable", Status.UNKNOWN, NO_SYSTEM, blamed=("tray2",)),
)
def test_architecture(case: GangCase) -> None:
    assert_gang(os_arch, case)


CONTAINERS = {host: change(one, "software", container="lab") for host, one in trays().items()}


@gang_table(
    GangCase("two machines", Status.PASS),
    GangCase("alone", Status.SKIP, needs=ALONE),
    GangCase("same boot id", Status.FAIL, second("system", boot_id="boot-of-tray1"), blamed=("tray2",)),
    GangCase("same GPUs", Status.FAIL, second("gpus", devices=(gpu(0, "tray1"),)), says=("GPU GPU-tray1-0",)),
    GangCase(
        "containers on one machine",
        Status.WARN,
        CONTAINERS | {"tray2": change(CONTAINERS["tray2"], "system", boot_id="boot-of-tray1")},
        says=("two containers",),
    ),
    GangCase(
        "the same container",
        Status.FAIL,
        CONTAINERS | {"tray2": change(CONTAINERS["tray2"], "system", boot_id="boot-of-tray1", hostname="tray1")},
    ),
    GangCase("unreadable", Status.UNKNOWN, NO_SYSTEM, blamed=("tray2",)),
    GangCase("no facts", Status.UNKNOWN, LOST, blamed=("tray2",)),
)
def test_same_machine_twice(case: GangCase) -> None:
    assert_gang(ctl_same_machine_twice, case)


def test_one_pair_is_told_once_however_many_gpus_they_share() -> None:
    facts = second("gpus", devices=tuple(gpu(i, "tray1") for i in range(4)))
    assert len(ctl_same_machine_twice.check(facts, gang_needs())) == 1


SMALLER = tuple(replace(gpu(i, "tray2"), memory_bytes=80 << 30) for i in range(4))


@gang_table(
    GangCase("alike", Status.PASS, says=("'NVIDIA GB200'", "580.95.05 on 2 hosts")),
    GangCase("one host", Status.SKIP, needs=ALONE),
    GangCase("one of two uses GPUs", Status.SKIP, needs=with_host(gang_needs(), "tray2", gpus=()), says=("fewer",)),
    GangCase("driver", Status.WARN, second("gpus", driver="570.86.15"), says=("570.86.15 on tray2",)),
    GangCase("memory", Status.FAIL, second("gpus", devices=SMALLER), says=("81920 MiB on tray2",)),
    GangCase("real and simulated", Status.FAIL, second("gpus", simulated=True), says=("(simulated) on tray2",)),
    GangCase(
        "unreadable", Status.UNKNOWN, trays() | {"tray2": replace(tray("tray2"), gpus=NO_TOOL)}, blamed=("tray2",)
    ),
)
def test_gpus_alike(case: GangCase) -> None:
    assert_gang(gpu_uniform, case)


def installed(*environments: Environment) -> Gang:
    return second("software", environments=environments)


OTHER_LOCK = replace(ENVIRONMENT, digest="e2" * 32)
SIMULATED = replace(ENVIRONMENT, simulated=True)
PINNED = replace(gang_needs(), environment=ENVIRONMENT.digest)


@gang_table(
    GangCase("the same", Status.PASS, says=("0.33.0 d1d1d1d1d1d1 on tray1, tray2",)),
    GangCase("not yet on one", Status.PASS, installed(), says=("1 hosts get it",)),
    GangCase("half installed counts as not there", Status.PASS, installed(replace(OTHER_LOCK, complete=False))),
    GangCase("nowhere yet", Status.PASS, needs=replace(gang_needs(), vllm_version="0.34.0"), says=("no host yet",)),
    GangCase("an older one beside it", Status.PASS, installed(ENVIRONMENT, replace(OTHER_LOCK, vllm_version="0.32.0"))),
    GangCase("another lock", Status.FAIL, installed(OTHER_LOCK), says=("e2e2e2e2e2e2 on tray2",)),
    GangCase("real and simulated", Status.FAIL, installed(SIMULATED), says=("(simulated) on tray2",)),
    GangCase("another lock beside the pinned one", Status.PASS, installed(OTHER_LOCK, ENVIRONMENT), PINNED),
    GangCase("another lock than the pinned one", Status.PASS, installed(OTHER_LOCK), PINNED, says=("1 hosts get it",)),
    GangCase(
        "the pinned digest holds another version",
        Status.FAIL,
        installed(replace(ENVIRONMENT, vllm_version="0.32.0")),
        PINNED,
        says=("0.32.0",),
    ),
    GangCase(
        "unreadable",
        Status.UNKNOWN,
        trays() | {"tray2": replace(tray("tray2"), software=Unknown(Why.TIMED_OUT))},
        blamed=("tray2",),
    ),
)
def test_version_lock(case: GangCase) -> None:
    assert_gang(rt_version_lock, case)


@table(
    Case("systemd", Status.PASS, says=("255",)),
    Case("none", Status.WARN, change(tray(), "software", systemd=None), says=("weaker",)),
    Case("in a container", Status.WARN, change(tray(), "software", systemd=None, container="docker")),
    Case("no root", Status.WARN, change(tray(), "system", can_sudo=False), says=("no root",)),
    Case("unreadable", Status.UNKNOWN, replace(tray(), software=NO_TOOL)),
)
def test_supervisor(case: Case) -> None:
    assert_host(rt_supervisor, case)


def ranks(*hosts: str) -> GangCase:
    return GangCase("", Status.FAIL, needs=replace(gang_needs(), ranks=hosts))


T1, T2 = "tray1", "tray2"


@gang_table(
    GangCase("0 to 7", Status.PASS, says=("8 ranks: tray1 4, tray2 4",)),
    GangCase("one missing", Status.FAIL, needs=ranks(*[T1] * 4, *[T2] * 3).needs, says=("7 ranks are placed",)),
    GangCase("one too many", Status.FAIL, needs=ranks(*[T1] * 4, *[T2] * 5).needs, says=("9 ranks are placed",)),
    GangCase("not in one run", Status.FAIL, needs=ranks(*[T1, T2] * 4).needs, says=("not in one run",)),
    GangCase("head is not first", Status.FAIL, needs=ranks(*[T2] * 4, *[T1] * 4).needs, says=("rank 0 is on 'tray2'",)),
    GangCase("a stranger", Status.FAIL, needs=ranks(*[T1] * 4, *[T2] * 3, "tray3").needs, says=("not in the plan",)),
    GangCase(
        "more engine cores than ranks",
        Status.FAIL,
        needs=with_host(gang_needs(), T2, processes=Processes(0, 1, 5, 5, 0)),
        says=("'tray2' has 4 ranks and starts 5",),
    ),
    GangCase("none", Status.FAIL, needs=ranks().needs),
    GangCase("a CPU host alone", Status.PASS, {"tray1": cpu_host()}, alone(cpu_needs())),
)
def test_rank_cover(case: GangCase) -> None:
    assert_gang(plan_rank_cover, case)


REFUSED = (("tray2", "--disable-flashinfer-autotune is not an option; nearest: --no-enable-flashinfer-autotune"),)


@gang_table(
    GangCase("accepted", Status.PASS),
    GangCase(
        "refused",
        Status.FAIL,
        needs=replace(gang_needs(), argv_errors=REFUSED),
        blamed=("tray2",),
        says=("--disable-flashinfer-autotune", "0.33.0"),
    ),
)
def test_flags(case: GangCase) -> None:
    assert_gang(plan_flags_parse, case)
