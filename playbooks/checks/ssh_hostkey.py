from __future__ import annotations

from inventory.errors import HostUnreachable
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.hostkey"
PRIORITY = Priority.P0
WHY = "with a key that is not the recorded one, another machine may be answering in this host's name"

ERRORS = frozenset({"host-key-changed", "host-key-unknown"})


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    # Transports refuse every key that is not on record, so facts are the proof.
    return Finding(ID, Status.PASS, facts.host, "the transport accepted the host, keys are checked strictly")


def from_error(host: str, error: HostUnreachable) -> Finding:
    observed = f"{error.message} [{error.id}]" + (f": {error.observed}" if error.observed else "")
    required = error.required or "the host shows the key that known_hosts has"
    remedy = error.next_command or f"invoke hosts.trust --hosts {quote(host)}"
    return Finding(ID, Status.FAIL, host, observed, required, remedy)
