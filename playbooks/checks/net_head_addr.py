from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "net.head_addr"
PRIORITY = Priority.P0
WHY = "followers that are sent to a wrong head address give up after five minutes, while the head waits for ever"

_REQUIRED = "an IPv4 address of the head that the other hosts can reach, neither loopback nor a wildcard"
_LOOK = f"{ON_HOST}ip -br addr"
_REMEDY = "set fabric_address of the head in inventory/hosts.yaml"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if len(needs.hosts) < 2:
        return (skip(ID, needs.head, "one host: nobody joins it"),)
    wrong = unusable(needs.head_address)
    if wrong is not None:
        return (Finding(ID, Status.FAIL, needs.head, wrong, _REQUIRED, _REMEDY),)
    head = facts.get(needs.head)
    if head is None:
        return (Finding(ID, Status.UNKNOWN, needs.head, "no facts of the head", _REQUIRED, _LOOK),)
    if not is_known(head.network):
        return (unread(ID, needs.head, head.network, _REQUIRED, _LOOK),)
    owner = next((i.name for i in head.network.interfaces if needs.head_address in i.addresses), None)
    if owner is None:
        observed = f"no interface of {needs.head} has {needs.head_address}"
        return (Finding(ID, Status.FAIL, needs.head, observed, _REQUIRED, _REMEDY),)
    observed = f"{needs.head_address} is on {owner!r}"
    if ":" in str(needs.head_address):
        return (Finding(ID, Status.WARN, needs.head, f"{observed} and is IPv6", _REQUIRED, _REMEDY),)
    return (Finding(ID, Status.PASS, needs.head, observed),)


def unusable(address: str | None) -> str | None:
    """Why no follower can join at `address`, if none can."""
    if not address:
        return "the plan has no head address"
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return f"{address!r} is a name, which each host may resolve differently"
    if parsed.is_loopback or parsed.is_unspecified or parsed.is_multicast:
        kind = "loopback" if parsed.is_loopback else "not an address of one machine"
        return f"{address} is {kind}: followers would look for the head on themselves"
    return None
