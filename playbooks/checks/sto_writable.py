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
    closed = [system for system, _ in mounts.matched if not system.writable]
    if not closed:
        return Finding(ID, Status.PASS, facts.host, required)
    observed = f"{closed[0].asked} (on {closed[0].mount}, {closed[0].type}) cannot be written"
    remedy = (
        f'{ON_HOST}sudo install -d -o "$USER" {quote(closed[0].asked)}  # or set state_dir in the inventory'
    )
    return Finding(ID, Status.FAIL, facts.host, observed, required, remedy)
