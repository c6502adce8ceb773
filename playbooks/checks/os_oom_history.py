from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "os.oom_history"
PRIORITY = Priority.P2
WHY = "what ran out of memory yesterday does so again today"

_LOOK = f"{ON_HOST}sudo journalctl -k --since -24h | grep -iE 'oom-kill|Out of memory'; free -g"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if isinstance(facts.oom_kills, Unknown):
        return skip(ID, facts.host, f"the kernel's log is {facts.oom_kills}")
    if facts.oom_kills:
        observed = f"the kernel killed for memory: {', '.join(facts.oom_kills[-4:])}"
        return Finding(ID, Status.WARN, facts.host, observed, "nothing killed for memory in the last day", _LOOK)
    return Finding(ID, Status.PASS, facts.host, "nothing was killed for memory in the last day")
