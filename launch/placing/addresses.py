"""Which address and interface each host of a gang uses towards the others. Pure.

What the inventory fixes is used as it is. Else the kernel's own choice: the source address and interface of the route
to the head (for the head: to the first follower).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.errors import CheckFailed
from inventory.facts.base import is_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inventory.facts.host import HostFacts, Interface, Network
    from inventory.schema import Host

LOOPBACK = ("127.0.0.1", "lo")
BRIDGES = ("docker", "br-", "veth", "virbr", "cni", "flannel", "cali")


def target_of(host: Host) -> str:
    """The address at which the others look for `host` when nothing better is known: fabric first, then control."""
    return host.fabric_address or host.address


def address_of(host: Host, peers: Sequence[Host], facts: Mapping[str, HostFacts]) -> tuple[str, str]:
    """Return (address, interface name) of `host` towards `peers`; loopback for a gang of one.

    Raises `CheckFailed` when no interface holds the fixed address, or the kernel has no route to any peer.
    """
    if not peers:
        return LOOPBACK
    network = facts[host.name].network
    if not is_known(network):
        raise _no_address(host, f"network facts are {network}")
    if host.fabric_interface:
        return _on_interface(host, network)
    if host.fabric_address:
        return host.fabric_address, _interface_holding(host, network)
    for peer in peers:
        for route in network.routes:
            if route.to == target_of(peer) and route.source:
                return route.source, route.interface
    raise _no_address(host, f"no route to {', '.join(target_of(peer) for peer in peers)}")


def public_address(host: Host, facts: HostFacts) -> str:
    """Where clients reach a host that serves alone: what the inventory says if it is there, else its first interface.

    Loopback for this machine itself, and where nothing is known. Bridges of containers are nobody's way in.
    """
    network = facts.network
    if host.transport == "local" or not is_known(network):
        return LOOPBACK[0]
    up = [one for one in network.interfaces if one.name != LOOPBACK[1] and one.state != "down"]
    held = [address for one in up for address in one.addresses]
    told = next((one for one in (host.fabric_address, host.address) if one in held), None)
    outside = (one for one in up if not one.name.startswith(BRIDGES))
    return told or next((address for one in outside if (address := _first_usable(one))), LOOPBACK[0])


def _on_interface(host: Host, network: Network) -> tuple[str, str]:
    named = next((one for one in network.interfaces if one.name == host.fabric_interface), None)
    if named is None:
        raise _no_address(host, f"interfaces {', '.join(one.name for one in network.interfaces)}")
    address = host.fabric_address or _first_usable(named)
    if address not in named.addresses:
        raise _no_address(host, f"{named.name} has {', '.join(named.addresses) or 'no address'}")
    return str(address), named.name


def _first_usable(interface: Interface) -> str | None:
    return next((address for address in interface.addresses if not address.startswith("fe80:")), None)


def _interface_holding(host: Host, network: Network) -> str:
    for interface in network.interfaces:
        if host.fabric_address in interface.addresses:
            return interface.name
    raise _no_address(host, f"no interface holds {host.fabric_address}")


def _no_address(host: Host, observed: str) -> CheckFailed:
    return CheckFailed(
        "no address for the other hosts of the gang",
        id="net.head_addr",
        observed=observed,
        required="an address on an interface that is up, with a route to the other hosts",
        next_command=f"invoke probe --hosts {host.name}, or set its fabric_interface in the inventory",
        host=host.name,
    )
