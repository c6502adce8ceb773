from __future__ import annotations

from dataclasses import replace

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import Cpu
from playbooks.checks import cpu_physical_cores
from playbooks.finding import Status
from playbooks.requirements import Processes
from tests.unit.playbooks.checks.cases import NO_TOOL, Case, assert_host, table
from tests.unit.playbooks.checks.contexts import inside
from tests.unit.playbooks.checks.gang import cpu_host, cpu_needs, tray, tray_needs

REFUSED = Unknown(Why.UNREADABLE, "a transient unit could not be started: no such bus")


def cores(number: int, machine: int = 144, threads: int = 1) -> Cpu:
    allowed = tuple(range(number * threads))
    return Cpu("Neoverse-V2", 2, tuple(range(machine * threads)), allowed, number, machine)


def with_cores(number: int, machine: int = 144, threads: int = 1) -> Case:
    facts = replace(tray(), cpu=cores(number, machine, threads))
    return Case("", Status.PASS, facts)


@table(
    # tray1: 4 GPUs -> 2 + 4 = 6; A 8 + launcher 1 + DP 4 + N 4 + coordinator 1 = 18
    Case("plenty", Status.PASS, says=("2 + N = 2 + 4 = 6", "144 physical cores")),
    Case("exactly one a process", Status.PASS, with_cores(18).facts),
    Case(
        "one less than processes",
        Status.WARN,
        with_cores(17).facts,
        says=(
            "17 physical cores in the allowed CPUs 0-16",
            "API servers + launcher + engine cores + workers + coordinator = 8 + 1 + 4 + 4 + 1 = 18",
        ),
    ),
    Case("exactly 2 + N", Status.WARN, with_cores(6).facts),
    Case("one less than 2 + N", Status.FAIL, with_cores(5).facts, says=("5 physical cores", "2 + N = 2 + 4 = 6")),
    Case("3 cores for 4 GPUs", Status.FAIL, with_cores(3).facts, says=("cpuset",)),
    Case("a small machine", Status.FAIL, with_cores(3, machine=3).facts, says=("choose hosts with 6",)),
    Case(
        "hyperthreads count half: 16 CPUs are 8 cores",
        Status.FAIL,
        with_cores(8, machine=8, threads=2).facts,
        replace(tray_needs(), gpus=tuple(range(8)), processes=Processes(1, 0, 1, 8, 0)),
        says=("8 physical cores", "(16 CPUs)", "2 + N = 2 + 8 = 10"),
    ),
    Case(
        "a follower carries no API server and no coordinator",
        Status.PASS,
        replace(tray("tray2"), cpu=cores(9)),
        tray_needs("tray2"),
    ),
    Case(
        "a follower one short",
        Status.WARN,
        replace(tray("tray2"), cpu=cores(8)),
        tray_needs("tray2"),
        says=("launcher + engine cores + workers = 1 + 4 + 4 = 9",),
    ),
    Case("no GPU, two cores: slower, not stuck", Status.WARN, cpu_host(), cpu_needs(), says=("1 CPU workers",)),
    Case("no GPU, three cores", Status.PASS, replace(cpu_host(), cpu=cores(3)), cpu_needs()),
    Case("unreadable", Status.UNKNOWN, replace(tray(), cpu=NO_TOOL), says=("2 + N",)),
)
def test_physical_cores(case: Case) -> None:
    assert_host(cpu_physical_cores, case)


@table(
    Case(
        "the unit has fewer than the login: the unit counts",
        Status.FAIL,
        inside(cpus_allowed=(0, 1, 2, 3), physical_cores=4),
        says=("4 physical cores in the allowed CPUs 0-3 (4 CPUs) of the unit that starts the ranks", "2 + 4 = 6"),
    ),
    Case(
        "the unit has more than the login: the unit counts",
        Status.PASS,
        replace(inside(), cpu=cores(2)),
        says=("144 physical cores", "2 + N = 2 + 4 = 6", "8 + 1 + 4 + 4 + 1 = 18"),
    ),
    Case("a container", Status.PASS, inside(where="container"), says=("the container of the ranks",)),
    Case(
        "a unit that could not be started: the login's cores prove nothing",
        Status.WARN,
        replace(tray(), context=REFUSED),
        says=("of the login", "no such bus", "systemd-run"),
    ),
    Case("nor that they are too few", Status.UNKNOWN, replace(tray(), cpu=cores(3), context=REFUSED)),
    Case("an old bundle, in which nobody looked: the login's", Status.PASS, replace(tray(), context=NOT_ASKED)),
    Case("the CPUs of the unit are not told", Status.WARN, inside(cpus_allowed=NO_TOOL)),
)
def test_the_set_of_the_launch_context_counts(case: Case) -> None:
    assert_host(cpu_physical_cores, case)


def test_a_split_cpuset_is_shown_as_ranges() -> None:
    cpu = Cpu("x", 2, tuple(range(16)), (0, 1, 2, 3, 8, 12, 13), 5, 16)
    finding = cpu_physical_cores.check(replace(tray(), cpu=cpu), tray_needs())
    assert "allowed CPUs 0-3,8,12-13 (7 CPUs)" in finding.observed
