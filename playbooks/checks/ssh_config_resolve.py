from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts, Way
from inventory.quoting import quote
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ssh.config_resolve"
PRIORITY = Priority.P1
WHY = "a host that ssh resolves in another way than the tool is another machine, or none"

_REQUIRED = "`ssh -G` tells a host name, a user and a port"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if isinstance(facts.way, Unknown):
        return skip(ID, facts.host, facts.way.detail or "how ssh reaches the host was not kept")
    way = facts.way
    lacks = [name for name in ("hostname", "user", "port") if not getattr(way, name)]
    if lacks:
        remedy = f"ssh -G {quote(way.target or facts.host)} | grep -E '^({'|'.join(lacks)}) '"
        observed = f"ssh -G tells no {' and no '.join(lacks)}"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, remedy)
    return Finding(ID, Status.PASS, facts.host, described(way))


def described(way: Way) -> str:
    if way.proxy_command:
        through = f" through {way.proxy_command!r}"
    else:
        through = f" via {', '.join(way.jumps)}" if way.jumps else ", no jump host"
    return f"{way.target} is {way.user}@{way.hostname}:{way.port}{through}"
