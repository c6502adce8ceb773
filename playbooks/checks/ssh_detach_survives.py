"""Whether ranks outlive the login that starts them: told by where they would be, not tried."""

from __future__ import annotations

import re

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts, LaunchContext, Session
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.launch_context import LOOK, could_not_be_read
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.detach_survives"
PRIORITY = Priority.P0
WHY = "ranks that belong to a login end with it, or with the next restart of the user's services"

USER = re.compile(r"/user\.slice/|/user-\d+\.slice|/session-[\w]+\.scope|/user@\d+\.service")
FRAGILE = 255  # https://github.com/systemd/systemd/issues/43361: it loses user units in spite of linger
_REQUIRED = "ranks in a system unit (root, or `sudo -n`), which no login ends"
REMEDY = f"{ON_HOST}sudo visudo -f /etc/sudoers.d/bringup; else: sudo loginctl enable-linger $USER, which is weaker"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    context = facts.context
    if isinstance(context, Unknown):
        if could_not_be_read(context):
            return Finding(ID, Status.WARN, facts.host, str(context), _REQUIRED, LOOK)
        return skip(ID, facts.host, "how ranks are started was not looked at")
    if context.where in {"systemd-unit", "container"}:
        kind = "a system unit" if context.where == "systemd-unit" else "a container"
        return Finding(ID, Status.PASS, facts.host, f"ranks run in {kind}, which no login ends")
    if not USER.search(context.cgroup):
        where = context.cgroup or "no group that is told"
        return Finding(ID, Status.PASS, facts.host, f"ranks run in {where}, which is not a login's")
    return _in_login(facts, context)


def _in_login(facts: HostFacts, context: LaunchContext) -> Finding:
    session = facts.session if is_known(facts.session) else Session()
    observed = f"ranks run in {context.cgroup}, which belongs to the login; {settings(session)}"
    if session.kill_user_processes and not (session.linger and "/user@" in context.cgroup):
        return Finding(ID, Status.FAIL, facts.host, f"{observed}: they end with it", _REQUIRED, REMEDY)
    version = systemd_of(facts)
    if version is not None and version >= FRAGILE and "/user@" in context.cgroup:
        observed += f"; systemd {version} loses user units when it restarts its user manager"
    return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, REMEDY)


def settings(session: Session) -> str:
    words = {True: "yes", False: "no", None: "not told"}
    return f"Linger={words[session.linger]}, KillUserProcesses={words[session.kill_user_processes]}"


def systemd_of(facts: HostFacts) -> int | None:
    """The major version."""
    text = facts.software.systemd if is_known(facts.software) else None
    found = re.match(r"\d{1,5}", text or "")
    return int(found[0]) if found else None
