from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.launch_context import could_not_be_read
from playbooks.finding import Finding, Status
from playbooks.lock import read_owner
from playbooks.requirements import HostRequirements

ID = "ctl.lock"
PRIORITY = Priority.P1
WHY = "two runs that change one host at once leave neither's plan behind"

_REQUIRED = "no other run on this host"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if isinstance(facts.lock, Unknown):
        if could_not_be_read(facts.lock):
            look = f"{ON_HOST}ls -la /var/lib/bringup/lock"
            return Finding(ID, Status.WARN, facts.host, f"the lock is {facts.lock}", _REQUIRED, look)
        return skip(ID, facts.host, "the lock was not looked at")
    if not facts.lock:
        return Finding(ID, Status.PASS, facts.host, "nobody holds the lock")
    holder = str(read_owner(facts.lock) or f"nobody who can be read ({facts.lock[:160]!r})")
    if facts.lock_holder == "ours":
        return Finding(ID, Status.PASS, facts.host, f"this run holds the lock: {holder}")
    hosts = f"--hosts {quote(facts.host)}"
    remedy = f"invoke status {hosts}; then, if it is gone for good: invoke unlock {hosts}"
    if facts.lock_holder == "gone":
        observed = f"a run that is gone left its lock: {holder}"
        return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, remedy)
    return Finding(ID, Status.FAIL, facts.host, f"the lock is held by {holder}", _REQUIRED, remedy)
