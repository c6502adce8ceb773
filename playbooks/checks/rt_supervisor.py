from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "rt.supervisor"
PRIORITY = Priority.P1
WHY = "without systemd nobody brings the ranks back after a reboot or sweeps up what they leave behind"

_REQUIRED = "systemd as the host's PID 1, and root to install a unit"
_LOOK = f"{ON_HOST}cat /proc/1/comm; systemctl is-system-running"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if not is_known(facts.software):
        return unread(ID, facts.host, facts.software, _REQUIRED, _LOOK)
    root = is_known(facts.system) and facts.system.can_sudo
    if facts.software.systemd and root:
        return Finding(ID, Status.PASS, facts.host, f"systemd {facts.software.systemd}")
    inside = f" (inside {facts.software.container!r})" if facts.software.container else ""
    lacks = "no root to install a unit" if facts.software.systemd else f"no systemd{inside}"
    observed = f"{lacks}: ranks run as a detached process group, which is weaker"
    return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, _LOOK)
