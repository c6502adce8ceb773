from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, gib, ranges, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "numa.coherent_nodes"
PRIORITY = Priority.P2
WHY = "memory of GPUs that the kernel counts as the host's is no room for the host"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if not is_known(facts.numa):
        return skip(ID, facts.host, f"NUMA nodes are {facts.numa}")
    nodes = [node for node in facts.numa if not node.cpus and node.memory_bytes]
    if not nodes:
        return skip(ID, facts.host, "every NUMA node with memory has CPUs")
    size = sum(node.memory_bytes for node in nodes)
    observed = f"nodes {ranges(node.id for node in nodes)} have memory and no CPUs: {gib(size)} that is not the host's"
    return Finding(ID, Status.PASS, facts.host, observed)
