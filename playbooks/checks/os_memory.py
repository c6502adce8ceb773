from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, gib, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "os.memory"
PRIORITY = Priority.P1
WHY = "the kernel kills a rank that runs out of memory while it loads, and the others wait for it"

_LOOK = f"{ON_HOST}ps -eo pid,user,rss,cmd --sort=-rss | head"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if needs.host_memory_bytes is None:
        return skip(ID, facts.host, "the recipe does not tell how much host memory it needs")
    required = f"{gib(needs.host_memory_bytes)} of memory available"
    if not is_known(facts.memory):
        return unread(ID, facts.host, facts.memory, required, _LOOK)
    observed = f"{gib(facts.memory.available_bytes)} available of {gib(facts.memory.total_bytes)}"
    if facts.memory.available_bytes >= needs.host_memory_bytes:
        return Finding(ID, Status.PASS, facts.host, observed)
    if needs.own_pids and facts.memory.total_bytes >= needs.host_memory_bytes:
        # What the replaced deployment holds comes back before the new one starts; how much is not known.
        observed += ", part of it held by the deployment that is being replaced"
        return Finding(ID, Status.WARN, facts.host, observed, required, _LOOK)
    return Finding(ID, Status.FAIL, facts.host, observed, required, _LOOK)
