from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.sudo"
PRIORITY = Priority.P1
WHY = "steps that need root stop half way when sudo asks for a password; bringup never asks for one"

_LOOK = f"{ON_HOST}sudo -n true"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    purposes = ", ".join(needs.needs_root)
    required = f"`sudo -n` works for: {purposes}" if purposes else "nothing of the plan needs root"
    if not is_known(facts.system):
        return unread(ID, facts.host, facts.system, required, _LOOK)
    who = f"user {facts.system.user!r} (uid {facts.system.uid})"
    if facts.system.can_sudo:
        return Finding(ID, Status.PASS, facts.host, f"{who} can become root without a password")
    status = Status.FAIL if purposes else Status.WARN
    remedy = f"{ON_HOST}sudo visudo -f /etc/sudoers.d/bringup  # USER ALL=(ALL) NOPASSWD: ALL"
    return Finding(ID, status, facts.host, f"{who} cannot become root without a password", required, remedy)
