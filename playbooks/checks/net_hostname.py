"""What a host's own name leads to: without a pinned interface gloo advertises that address to the others."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts, Names
from playbooks.checks.base import ON_HOST, Priority, of_each
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "net.hostname"
PRIORITY = Priority.P0
WHY = "a host whose name leads to 127.0.1.1 tells the others to look for it on themselves, and all wait"

PIN = "GLOO_SOCKET_IFNAME"
_REQUIRED = f"the host's own name leads to an address that the others reach, or {PIN} names the interface"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    several = (needs.layout.nodes or len(needs.hosts)) > 1
    known, unknown = of_each(facts, needs, lambda host: host.names)
    return tuple(
        of_host(one, known[one.host], several=several)
        if one.host in known
        else unread_names(one, unknown[one.host], several=several)
        for one in needs.hosts
    )


def unread_names(needs: HostRequirements, fact: Unknown, *, several: bool) -> Finding:
    if not several or pinned(needs):
        return Finding(ID, Status.SKIP, needs.host, f"{PIN} is set, or there is one host: its name is not asked for")
    return missing_fact(ID, needs.host, fact, _REQUIRED, f'{ON_HOST}getent ahosts "$(hostname)"')


def of_host(needs: HostRequirements, names: Names, *, several: bool) -> Finding:
    if any(not is_loopback(address) for address in names.own):
        return Finding(ID, Status.PASS, needs.host, f"its own name leads to {', '.join(names.own)}")
    observed = f"its own name leads to {', '.join(names.own) or 'nothing'}"
    observed += f", by {names.hosts_lines[0]!r} in /etc/hosts" if names.hosts_lines else ""
    pin = pinned(needs)
    observed += f"; {PIN}={pin} makes up for it" if pin else f"; {PIN} is not set"
    status = Status.FAIL if several and not pin else Status.WARN
    remedy = f"{ON_HOST}take the name out of the 127.* line of /etc/hosts; or set {PIN} in the plan's env"
    return Finding(ID, status, needs.host, observed, _REQUIRED, remedy)


def pinned(needs: HostRequirements) -> str | None:
    return dict(needs.env).get(PIN) or None


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
