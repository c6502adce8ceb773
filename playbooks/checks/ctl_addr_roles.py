"""Where ssh goes, and where the ranks talk: two addresses, of which only the second may reach a flag of the engine."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts, Network
from playbooks.checks.base import ON_HOST, Priority, nodes_of, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "ctl.addr_roles"
PRIORITY = Priority.P1
WHY = "the address by which ssh reaches a host is often not one at which other ranks do"

_REQUIRED = "a fabric address that is one of the host's own and no loopback"
_LOOK = f"{ON_HOST}ip -br addr"
_REMEDY = "set fabric_address or fabric_interface of the host in inventory/hosts.yaml"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if nodes_of(needs) < 2:
        return (skip(ID, "", "one host: its ranks talk to nobody else"),)
    return tuple(_of_host(facts[one.host], one) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.address:
        return skip(ID, facts.host, "the plan tells no address of the ranks")
    control = f"ssh {facts.way.hostname}, " if is_known(facts.way) else ""
    observed = f"{control}ranks {needs.address}"
    if is_loopback(needs.address):
        return Finding(ID, Status.FAIL, facts.host, f"{observed}, which is loopback", _REQUIRED, _REMEDY)
    if isinstance(facts.network, Unknown):
        return unread(ID, facts.host, facts.network, _REQUIRED, _LOOK)
    owner = owner_of(needs.address, facts.network)
    if owner is None:
        return Finding(ID, Status.FAIL, facts.host, f"{observed}, which no interface here has", _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, f"{observed} on {owner}")


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def owner_of(address: str, network: Network) -> str | None:
    return next((one.name for one in network.interfaces if address in one.addresses), None)
