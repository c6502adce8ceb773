from __future__ import annotations

from dataclasses import replace

from inventory.facts.base import NOT_ASKED, Unknown, Why
from inventory.facts.host import HostFacts, NumaBind, NumaNode
from playbooks.checks import numa_balancing, numa_bind_probe, numa_coherent_nodes, numa_mems_allowed, numa_numactl
from playbooks.finding import Status
from tests.unit.playbooks.checks.cases import HUNG, NO_TOOL, Case, assert_host, table
from tests.unit.playbooks.checks.contexts import GIB, inside
from tests.unit.playbooks.checks.gang import cpu_needs, tray, tray_needs

BINDS = replace(tray_needs(), numa_bind=True)
MUST_BIND = replace(BINDS, numa_bind_required=True)


def bound(cpu: tuple[int, ...], memory: tuple[int, ...]) -> HostFacts:
    return replace(tray(), numa_bind=NumaBind(numactl=True, cpu=cpu, memory=memory, tried=(0, 1)))


@table(
    Case("both nodes", Status.PASS, bound((0, 1), (0, 1)), BINDS, says=("node 0-1",)),
    Case("membind refused", Status.WARN, bound((0, 1), (0,)), BINDS, says=("memory of node 1", "SYS_NICE")),
    Case("nothing may be bound", Status.WARN, bound((0,), ()), BINDS, says=("CPUs of node 1",)),
    Case("and the plan must bind", Status.FAIL, bound((0,), ()), MUST_BIND),
    Case("memory alone is refused where the plan must bind", Status.WARN, bound((0, 1), ()), MUST_BIND),
    Case(
        "GPUs that do not tell their node: all that were tried",
        Status.WARN,
        replace(bound((0, 1), (0,)), gpus=HUNG),
        BINDS,
    ),
    Case("the plan binds nothing", Status.SKIP, bound((), ())),
    Case("no numactl", Status.SKIP, replace(tray(), numa_bind=NumaBind(numactl=False)), BINDS, says=("numa.numactl",)),
    Case("hung", Status.UNKNOWN, replace(tray(), numa_bind=HUNG), BINDS),
    Case("not tried", Status.SKIP, replace(tray(), numa_bind=NOT_ASKED), BINDS),
)
def test_bind_probe(case: Case) -> None:
    assert_host(numa_bind_probe, case)


@table(
    Case("there", Status.PASS, bound((0,), (0,)), BINDS),
    Case(
        "not there", Status.WARN, replace(tray(), numa_bind=NumaBind(numactl=False)), BINDS, says=("apt-get install",)
    ),
    Case("not needed", Status.SKIP, replace(tray(), numa_bind=NumaBind(numactl=False))),
    Case("not looked at", Status.SKIP, replace(tray(), numa_bind=NOT_ASKED), BINDS),
)
def test_numactl(case: Case) -> None:
    assert_host(numa_numactl, case)


@table(
    Case("all", Status.PASS, inside()),
    Case("one is missing", Status.WARN, inside(nodes_allowed=(0,)), says=("memory nodes 0", "memory node 1 too")),
    Case("more than needed", Status.PASS, inside(nodes_allowed=(0, 1, 2))),
    Case("GPUs unknown", Status.SKIP, replace(inside(), gpus=HUNG)),
    Case("nodes unknown", Status.SKIP, inside(nodes_allowed=NO_TOOL)),
    Case("no GPU planned", Status.SKIP, inside(nodes_allowed=(0,)), cpu_needs()),
)
def test_mems_allowed(case: Case) -> None:
    assert_host(numa_mems_allowed, case)


@table(
    Case("off", Status.PASS, replace(tray(), numa_balancing=0)),
    Case("on", Status.WARN, replace(tray(), numa_balancing=1), says=("sysctl kernel.numa_balancing=0",)),
    Case("one GPU", Status.SKIP, replace(tray(), numa_balancing=1), replace(tray_needs(), gpus=(0,))),
    Case("a kernel without it", Status.SKIP, replace(tray(), numa_balancing=Unknown(Why.EMPTY))),
)
def test_balancing(case: Case) -> None:
    assert_host(numa_balancing, case)


COHERENT = (NumaNode(0, (0, 1), 480 * GIB), NumaNode(1, (), 0), NumaNode(2, (), 185 * GIB), NumaNode(3, (), 185 * GIB))


@table(
    Case("memory of GPUs", Status.PASS, replace(tray(), numa=COHERENT), says=("nodes 2-3", "370.0 GiB")),
    Case("none", Status.SKIP, replace(tray(), numa=COHERENT[:2])),
    Case("unknown", Status.SKIP, replace(tray(), numa=HUNG)),
)
def test_coherent_nodes(case: Case) -> None:
    assert_host(numa_coherent_nodes, case)
