from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, ranges, skip
from playbooks.checks.launch_context import part_of, place_of
from playbooks.checks.numa_bind_probe import nodes_of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "numa.mems_allowed"
PRIORITY = Priority.P2
WHY = "buffers then lie on the other socket, and every transfer to the GPU crosses it"

_REMEDY = f"{ON_HOST}systemctl show -p AllowedMemoryNodes system.slice  # and widen it; --cpuset-mems of docker"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    wanted = nodes_of(facts, needs)
    if not wanted:
        return skip(ID, facts.host, "no planned GPU tells its NUMA node")
    allowed = part_of(facts, lambda context: context.nodes_allowed)
    if isinstance(allowed, Unknown):
        return skip(ID, facts.host, f"the memory nodes where ranks start are {allowed}")
    observed = f"memory nodes {ranges(allowed)} in {place_of(facts)}, GPUs are on {ranges(wanted)}"
    if wanted - {*allowed}:
        required = f"memory node {ranges(wanted - {*allowed})} too"
        return Finding(ID, Status.WARN, facts.host, observed, required, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, observed)
