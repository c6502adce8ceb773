from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "numa.numactl"
PRIORITY = Priority.P2
WHY = "vLLM binds by the program numactl: without it --numa-bind does nothing, in silence"

_BY_HAND = f"{ON_HOST}sudo apt-get install numactl || sudo dnf install numactl, or in the image"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.numa_bind:
        return skip(ID, facts.host, "the plan binds nothing")
    if isinstance(facts.numa_bind, Unknown):
        return skip(ID, facts.host, f"whether numactl is there is {facts.numa_bind}")
    if not facts.numa_bind.numactl:
        remedy = by_playbook(facts.host, "tools", _BY_HAND)
        return Finding(ID, Status.WARN, facts.host, "numactl is not there", "numactl, because the plan binds", remedy)
    return Finding(ID, Status.PASS, facts.host, "numactl is there")
