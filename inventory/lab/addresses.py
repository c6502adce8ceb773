"""Which addresses a lab gets: networks that nothing on this machine routes to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from inventory.errors import CheckFailed
from inventory.lab import state
from inventory.lab.process import run

POOLS = (IPv4Network("198.18.0.0/15"), IPv4Network("10.213.0.0/16"))  # RFC 2544, then private
MACHINE, FIRST_HOST, GATEWAY = 1, 11, 254  # last octets


def free_networks(taken: Iterable[IPv4Network], count: int) -> tuple[IPv4Network, ...]:
    """The first `count` /24 of the pools that overlap nothing in `taken`."""
    taken = tuple(taken)
    free = (
        network
        for pool in POOLS
        for network in pool.subnets(new_prefix=24)
        if not any(network.overlaps(other) for other in taken)
    )
    found = tuple(network for _, network in zip(range(count), free, strict=False))
    if len(found) < count:
        raise CheckFailed(
            "no free network for the lab",
            id="lab-prerequisites",
            observed=f"every /24 of {', '.join(map(str, POOLS))} is routed already",
            required=f"{count} networks that no route of this machine covers",
            next_command="ip route show table all",
        )
    return found


def taken_networks() -> Iterator[IPv4Network]:
    """What this machine routes, the default route left out, and what other labs hold."""
    for route in json.loads(run(["ip", "-4", "-json", "route", "show", "table", "all"])):
        destination = route["dst"]
        if destination != "default":
            yield IPv4Network(destination, strict=False)
    for name in state.names():
        yield from map(IPv4Network, state.load(name).networks)


def address(network: str, last: int) -> str:
    return str(IPv4Network(network)[last])


def of_host(network: str, number: int) -> str:
    return address(network, FIRST_HOST - 1 + number)


def leg_name(control: str) -> str:
    """The machine's interface in the control network: one name for each network, at most 15 characters."""
    return f"lab-{int(IPv4Network(control).network_address):08x}"
