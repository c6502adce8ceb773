from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.controlpath_len"
PRIORITY = Priority.P2
WHY = "ssh cannot make its shared connection there, and every login by hand fails"

LONGEST = 90  # measured: OpenSSH adds 17 before it binds, and the kernel takes 107
_REQUIRED = f"at most {LONGEST} characters"
_REMEDY = "in ~/.ssh/config: ControlPath /tmp/cm-%C"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if isinstance(facts.way, Unknown):
        return skip(ID, facts.host, facts.way.detail or "how ssh reaches the host was not kept")
    path = facts.way.control_path
    if path is None:
        return Finding(ID, Status.PASS, facts.host, "ssh shares no connections to this host")
    observed = f"ControlPath of {len(path)} characters: {path}"
    if len(path) > LONGEST:
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, observed)
