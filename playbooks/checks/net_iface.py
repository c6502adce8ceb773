"""The interface that ranks bind and advertise: there, up, owner of the address, and the way to the head."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.host import HostFacts, Network
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, nodes_of, of_each, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "net.iface"
PRIORITY = Priority.P0
WHY = "ranks that advertise an address of the wrong interface wait for each other until they time out"

_REQUIRED = "the planned interface is up, owns the planned address and is the way to every other host"
_LOOK = f"{ON_HOST}ip -br addr; ip route"
# Interfaces that no other machine can reach, whatever address they have.
_INSIDE = re.compile(r"lo|docker\d+|virbr\d+|veth.*|cni\d*|br-[0-9a-f]{12}|usb\d+")


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if nodes_of(needs) < 2:
        return (skip(ID, "", "one host: ranks talk over loopback"),)
    known, unknown = of_each(facts, needs, lambda host: host.network)
    unreadable = [unread(ID, host, fact, _REQUIRED, _LOOK) for host, fact in unknown.items()]
    return (*unreadable, *(of_host(known[one.host], one, needs) for one in needs.hosts if one.host in known))


def of_host(network: Network, host: HostRequirements, needs: Requirements) -> Finding:
    if host.interface is not None and host.address is None and (wrong := fault(network, host.interface)):
        status, observed, remedy = wrong
        return Finding(ID, status, host.host, observed, _REQUIRED, remedy)
    if host.interface is None or host.address is None:
        observed = "the plan has no interface or address for this host"
        remedy = "set fabric_address or fabric_interface of the host in inventory/hosts.yaml"
        return Finding(ID, Status.FAIL, host.host, observed, _REQUIRED, remedy)
    wrong = fault(network, host.interface, host.address) or detour(network, host, needs) or astray(network, host, needs)
    if wrong is None:
        return Finding(ID, Status.PASS, host.host, f"{host.interface} is up and has {host.address}")
    status, observed, remedy = wrong
    return Finding(ID, status, host.host, observed, _REQUIRED, remedy)


def fault(network: Network, name: str, address: str | None = None) -> tuple[Status, str, str] | None:
    """What is wrong with the interface itself."""
    if _INSIDE.fullmatch(name):
        return Status.FAIL, f"{name!r} cannot be reached from other machines", _LOOK
    found = next((one for one in network.interfaces if one.name == name), None)
    if found is None:
        there = ", ".join(repr(one.name) for one in network.interfaces) or "none"
        return Status.FAIL, f"no interface {name!r}; there are {there}", _LOOK
    if found.state == "down":
        return Status.FAIL, f"{name!r} is down", f"{ON_HOST}sudo ip link set {quote(name)} up"
    if address is not None and address not in found.addresses:
        owner = next((one.name for one in network.interfaces if address in one.addresses), None)
        where = f"it is on {owner!r}" if owner else "no interface of this host has it"
        return Status.FAIL, f"{name!r} does not have {address}: {where}", _LOOK
    if found.state == "unknown":
        return Status.WARN, f"the kernel does not tell whether {name!r} is up", _LOOK
    return None


def detour(network: Network, host: HostRequirements, needs: Requirements) -> tuple[Status, str, str] | None:
    """A follower whose packets to the head leave by another interface."""
    if host.host == needs.head or needs.head_address is None:
        return None  # net.head_addr speaks of a missing head address
    look = f"{ON_HOST}ip route get {quote(needs.head_address)}"
    route = next((one for one in network.routes if one.to == needs.head_address), None)
    if route is None:
        return Status.UNKNOWN, f"no route to the head, {needs.head_address}, was read", look
    if route.interface == host.interface:
        return None
    observed = f"the way to the head, {route.to}, is {route.interface!r} from {route.source}, not {host.interface!r}"
    return Status.FAIL, observed, look


def astray(network: Network, host: HostRequirements, needs: Requirements) -> tuple[Status, str, str] | None:
    """No IPv4, or packets to another host that leave by another interface; routes that were not read are not told."""
    ours = next((one for one in network.interfaces if one.name == host.interface), None)
    if ours is not None and all(":" in address for address in ours.addresses):
        return Status.FAIL, f"{ours.name!r} has no IPv4 address", _LOOK
    peers = {one.address: one.host for one in needs.hosts if one.address and one.host != host.host}
    for route in network.routes:
        if route.to in peers and route.interface != host.interface:
            observed = f"the way to {peers[route.to]}, {route.to}, is {route.interface!r}, not {host.interface!r}"
            return Status.FAIL, observed, f"{ON_HOST}ip route get {quote(route.to)}"
    return None
