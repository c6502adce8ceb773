from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.checks.file_systems import spaces_by_mount
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.writable"
PRIORITY = Priority.P0
WHY = "a folder that cannot be written stops the deployment at its first step"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.space:
        return skip(ID, facts.host, "the plan writes nothing here")
    paths = ", ".join(sorted({one.path for one in needs.space}))
    required = f"{paths} can be written"
    look = f"{ON_HOST}findmnt -T {quote(needs.space[0].path)}"
    if not is_known(facts.file_systems):
        return unread(ID, facts.host, facts.file_systems, required, look)
    mounts = spaces_by_mount(facts.file_systems, needs.space)
    if mounts.unmatched:
        observed = f"no file system was asked for {', '.join(one.path for one in mounts.unmatched)}"
        return Finding(ID, Status.UNKNOWN, facts.host, observed, required, look)
    closed = next((system for system, _ in mounts.matched if not system.writable), None)
    if closed is None:
        return Finding(ID, Status.PASS, facts.host, required)
    observed = f"{closed.asked} (on {closed.mount}, {closed.type}) cannot be written by the login user"
    remedy = f'{ON_HOST}sudo install -d -o "$USER" {quote(closed.asked)}  # or set state_dir'
    root = is_known(facts.system) and facts.system.can_sudo and facts.system.uid != 0
    return Finding(ID, Status.WARN if root else Status.FAIL, facts.host, observed, required, remedy)
