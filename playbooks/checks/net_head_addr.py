from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from inventory.facts.host import HostFacts, Network
from playbooks.argv import options
from playbooks.checks.base import ON_HOST, Priority, nodes_of, of_each, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "net.head_addr"
PRIORITY = Priority.P0
WHY = "followers with a wrong head address give up after five minutes, while the head waits for ever"

OPTIONS = ("--data-parallel-address", "--master-addr")
_REQUIRED = "an IPv4 address of the head that the other hosts can reach, neither loopback nor a wildcard"
_LOOK = f"{ON_HOST}ip -br addr"
_REMEDY = "set fabric_address of the head in inventory/hosts.yaml"


OF_CONTAINERS = re.compile(r"docker\d|br-[0-9a-f]|virbr|cni|veth|lxc|podman")


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if nodes_of(needs) < 2:
        return (skip(ID, needs.head, "one host: nobody joins it"),)
    address = needs.head_address or by_command(needs)
    wrong = unusable(address)
    if wrong is not None:
        return (Finding(ID, Status.FAIL, needs.head, wrong, _REQUIRED, _REMEDY),)
    known, unknown = of_each(facts, needs, lambda host: host.network)
    if needs.head in unknown:
        return (unread(ID, needs.head, unknown[needs.head], _REQUIRED, _LOOK),)
    return (owned(known[needs.head], needs.head, str(address)),)


def by_command(needs: Requirements) -> str | None:
    """The address that the commands name; of several that differ the first."""
    each = (options(one.argv) for one in needs.hosts)
    return next((value for told in each for name in OPTIONS if (value := told.get(name))), None)


def owned(network: Network, head: str, address: str) -> Finding:
    owner = next((one.name for one in network.interfaces if address in one.addresses), None)
    if owner is None:
        return Finding(ID, Status.FAIL, head, f"no interface of {head} has {address}", _REQUIRED, _REMEDY)
    if OF_CONTAINERS.match(owner):
        observed = f"{address} is on {owner!r}, which only containers of {head} reach"
        return Finding(ID, Status.FAIL, head, observed, _REQUIRED, _REMEDY)
    if ":" in address:
        return Finding(ID, Status.WARN, head, f"{address} on {owner!r} is IPv6", _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, head, f"{address} is on {owner!r}")


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
