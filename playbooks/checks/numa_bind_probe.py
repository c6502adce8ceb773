"""Whether vLLM's workers may be bound to the nodes of their GPUs: tried with numactl, in the launch context."""

from __future__ import annotations

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts, NumaBind
from playbooks.checks.base import ON_HOST, Priority, ranges, skip, unread
from playbooks.checks.launch_context import could_not_be_read
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "numa.bind_probe"
PRIORITY = Priority.P1
WHY = "where memory may not be bound, a rank that is told to bind it exits with 1 and says nothing"

_REQUIRED = "numactl may bind CPUs and memory of the nodes of the planned GPUs"
_REMEDY = "give the container --cap-add SYS_NICE, or bind the CPUs only"
_LOOK = f"{ON_HOST}numactl --cpunodebind=0 --membind=0 true; echo $?"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.numa_bind:
        return skip(ID, facts.host, "the plan binds nothing")
    bind = facts.numa_bind
    if isinstance(bind, Unknown):
        if could_not_be_read(bind):
            return unread(ID, facts.host, bind, _REQUIRED, _LOOK)
        return skip(ID, facts.host, "numactl was not tried where ranks start")
    if not bind.numactl:
        return skip(ID, facts.host, "numactl is not there: see numa.numactl")
    return judge(facts, needs, bind)


def judge(facts: HostFacts, needs: HostRequirements, bind: NumaBind) -> Finding:
    nodes = nodes_of(facts, needs) or {*bind.tried}
    no_cpu, no_memory = nodes - {*bind.cpu}, nodes - {*bind.memory}
    if no_cpu:
        status = Status.FAIL if needs.numa_bind_required else Status.WARN
        observed = f"numactl may not bind the CPUs of node {ranges(no_cpu)}"
        return Finding(ID, status, facts.host, observed, _REQUIRED, _LOOK)
    if no_memory:
        observed = f"numactl may bind the CPUs, but not the memory of node {ranges(no_memory)} (membind refused)"
        return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, f"numactl binds CPUs and memory of node {ranges(nodes)}")


def nodes_of(facts: HostFacts, needs: HostRequirements) -> set[int]:
    """The nodes of the planned GPUs, as far as they are known."""
    devices = facts.gpus.devices if is_known(facts.gpus) else ()
    planned = [gpu for gpu in devices if gpu.index in needs.gpus or not (needs.gpus or needs.processes.total)]
    return {gpu.numa_node for gpu in planned if gpu.numa_node is not None}
