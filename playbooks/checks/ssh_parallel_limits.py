"""Logins at once against what sshd takes before it begins to drop them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "ssh.parallel_limits"
PRIORITY = Priority.P1
WHY = "a server that is asked by many at once drops logins at random, and a host that is well looks down"

HANDSHAKES = 8  # at once through one server: the limit of the fan-out
DEFAULT_START = 10  # MaxStartups 10:30:100
_REQUIRED = "MaxStartups of every server on the way above the logins that go through it at once"
_REMEDY = f"{ON_HOST}sudo sshd -T | grep -i maxstartups; then MaxStartups 64:30:256 in sshd_config of the jump host"


def check(facts: Mapping[str, HostFacts], _needs: Requirements) -> tuple[Finding, ...]:
    ways = {host: one.way for host, one in facts.items() if is_known(one.way)}
    if not ways:
        return (skip(ID, "", "no host is reached by ssh"),)
    dropped = {host: way.dropped_logins for host, way in ways.items() if way.dropped_logins}
    if dropped:
        hosts = ", ".join(f"{host} {number}" if host else str(number) for host, number in dropped.items())
        observed = f"{sum(dropped.values())} logins were dropped before they began and tried again ({hosts})"
        return (Finding(ID, Status.WARN, "", observed, _REQUIRED, _REMEDY),)
    through = Counter(jump.rpartition("@")[2].partition(":")[0] for way in ways.values() for jump in way.jumps)
    planned = {server: min(number, HANDSHAKES) for server, number in through.items()}
    tight = [told for host, one in facts.items() if (told := _narrow(host, one, planned))]
    if tight:
        return (Finding(ID, Status.WARN, "", "; ".join(tight), _REQUIRED, _REMEDY),)
    most = max(planned.values(), default=1)
    observed = f"at most {most} logins at once through one server; sshd begins to drop at {DEFAULT_START} by default"
    return (Finding(ID, Status.PASS, "", observed),)


def _narrow(host: str, facts: HostFacts, planned: Mapping[str, int]) -> str | None:
    """A host is logged in to once, and as often as others go through it."""
    if not is_known(facts.ssh_server):
        return None
    names = {host, facts.way.hostname if is_known(facts.way) else host}
    logins = max([1, *(number for server, number in planned.items() if server in names)])
    start = facts.ssh_server.start
    return f"{logins} logins at once go to {host}, whose sshd begins to drop at {start}" if logins > start else None
