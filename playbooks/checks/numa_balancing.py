from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.launch_context import gpu_count, tuned
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "numa.balancing"
PRIORITY = Priority.P2
WHY = "the kernel moves pages between nodes under running ranks, which stalls transfers and expert parallelism"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if gpu_count(facts, needs) < 2:
        return skip(ID, facts.host, "fewer than two GPUs are planned here")
    if isinstance(facts.numa_balancing, Unknown):
        return skip(ID, facts.host, f"kernel.numa_balancing is {facts.numa_balancing}")
    observed = f"kernel.numa_balancing = {facts.numa_balancing}"
    if facts.numa_balancing:
        remedy = f"{tuned(facts.host)}  # or by hand, on the host: sudo sysctl kernel.numa_balancing=0"
        return Finding(ID, Status.WARN, facts.host, observed, "kernel.numa_balancing = 0", remedy)
    return Finding(ID, Status.PASS, facts.host, observed)
