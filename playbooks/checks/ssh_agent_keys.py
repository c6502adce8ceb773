from __future__ import annotations

from inventory.errors import HostUnreachable
from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.agent_keys"
PRIORITY = Priority.P1
WHY = "a server closes the connection after six keys, before the right one was its turn"

MANY = 5
REFUSED = "Too many authentication failures"
_REQUIRED = f"at most {MANY} keys in the agent, or IdentitiesOnly with an IdentityFile for the host"
_REMEDY = "ssh-add -l; then in ~/.ssh/config, for the pattern of these hosts: IdentityFile FILE, IdentitiesOnly yes"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if isinstance(facts.way, Unknown):
        return skip(ID, facts.host, facts.way.detail or "how ssh reaches the host was not kept")
    if facts.way.identities_only:
        return Finding(ID, Status.PASS, facts.host, "IdentitiesOnly is set for this host")
    if facts.way.agent_keys is None:
        return skip(ID, facts.host, "the agent does not answer")
    observed = f"the agent offers {facts.way.agent_keys} keys, IdentitiesOnly is not set"
    if facts.way.agent_keys > MANY:
        return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, observed)


def is_cause_of(error: HostUnreachable) -> bool:
    return REFUSED.lower() in f"{error.message} {error.observed}".lower()


def from_error(host: str, error: HostUnreachable) -> Finding:
    """The server had enough of the keys that it was offered."""
    observed = f"{error.message} [{error.id}]: {error.observed or REFUSED}"
    remedy = f"{_REMEDY}; try: ssh -o IdentitiesOnly=yes -i FILE {quote(host)} true"
    return Finding(ID, Status.FAIL, host, observed, _REQUIRED, remedy)
