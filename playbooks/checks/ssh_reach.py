from __future__ import annotations

from inventory.errors import HostUnreachable
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.reach"
PRIORITY = Priority.P0
WHY = "a host that does not answer has an unknown state, and nothing may be decided about it"

_REQUIRED = "the host answers SSH and runs /bin/sh, without a question"
_CUT_OFF = frozenset({"connection-lost"})


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    return Finding(ID, Status.PASS, facts.host, f"answered in {facts.seconds:.1f} s")


def from_error(host: str, error: HostUnreachable) -> Finding:
    """What the transport said; an answer that was cut off half way is unknown, not a refusal."""
    status = Status.UNKNOWN if error.id in _CUT_OFF else Status.FAIL
    observed = f"{error.message} [{error.id}]" + (f": {error.observed}" if error.observed else "")
    remedy = error.next_command or f"ssh -v -o BatchMode=yes {quote(host)} true"
    return Finding(ID, status, host, observed, error.required or _REQUIRED, remedy)


def missing(host: str) -> Finding:
    """A host of the plan of which there is neither an answer nor an error."""
    remedy = f"ssh -v -o BatchMode=yes {quote(host)} true"
    return Finding(ID, Status.UNKNOWN, host, "no facts of this host", _REQUIRED, remedy)
