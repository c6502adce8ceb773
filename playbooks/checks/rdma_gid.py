"""RoCE: each host has a routable GID (RoCE v2, with the IPv4 of its interface), looked up on that host itself."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address

from inventory.facts.base import is_known
from inventory.facts.host import Gid, HostFacts, RdmaDevice, RdmaPort
from playbooks.checks.base import ON_HOST, Priority, by_value, skip
from playbooks.checks.interconnect import ROCE, is_up, named_ports
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "rdma.gid"
PRIORITY = Priority.P1
WHY = "a GID index that is empty or not routable on one host ends NCCL with a time-out or error 61 when it connects"

VARIABLE = "NCCL_IB_GID_INDEX"
_REQUIRED = "a RoCE v2 GID that holds the interface's IPv4 on every planned port"
_LOOK = f"{ON_HOST}grep -H . /sys/class/infiniband/*/ports/*/gid_attrs/types/* /sys/class/infiniband/*/ports/*/gids/*"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if not needs.rdma:
        return (skip(ID, "", "the plan does not tell that it uses RDMA"),)
    hosts = {one.host: (facts[one.host], one) for one in needs.hosts if one.host in facts}
    roce = {host: pair for host, pair in hosts.items() if roce_ports(*pair)}
    if not roce:
        return (skip(ID, "", "no planned port of RoCE"),)
    found = [of_host(*pair) for pair in roce.values()]
    indices = {host: index for host, pair in roce.items() if (index := index_of(*pair)) is not None}
    if len(set(indices.values())) > 1:
        observed = by_value({host: f"index {index}" for host, index in indices.items()})
        remedy = f"export {VARIABLE} for each host by itself, never one for all"
        found.append(Finding(ID, Status.WARN, "", observed, "the index of each host's own table", remedy))
    return tuple(found)


def roce_ports(facts: HostFacts, needs: HostRequirements) -> tuple[tuple[RdmaDevice, RdmaPort], ...]:
    return tuple((d, p) for d, p in named_ports(facts, needs) if p.link_layer == ROCE and (is_up(p) or not p.state))


def of_host(facts: HostFacts, needs: HostRequirements) -> Finding:
    without = [device.name for device, port in roce_ports(facts, needs) if not routable(facts, device, port)]
    said = dict(needs.env).get(VARIABLE)
    if said is not None and (empty := not_at(said, facts, needs)):
        index = index_of(facts, needs)
        observed = f"{VARIABLE}={said} is not a routable RoCE v2 GID on {', '.join(empty)}"
        remedy = f"{VARIABLE}={index} for this host" if index is not None else _LOOK
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, remedy)
    if without:
        remedy = f"{_LOOK}  # give the interface its IPv4 address, or leave the device out: NCCL_IB_HCA"
        observed = f"no routable RoCE v2 GID on {', '.join(without)}"
        every = len(without) == len(roce_ports(facts, needs)) or "NCCL_IB_HCA" in dict(needs.env)
        return Finding(ID, Status.FAIL if every else Status.WARN, facts.host, observed, _REQUIRED, remedy)
    return Finding(
        ID, Status.PASS, facts.host, f"index {index_of(facts, needs)} on {len(roce_ports(facts, needs))} ports"
    )


def routable(facts: HostFacts, device: RdmaDevice, port: RdmaPort) -> tuple[Gid, ...]:
    """RoCE v2 entries with an IPv4: that of the device's interface, where its addresses are known."""
    own = addresses(facts, device)
    mapped = ((gid, ipv4(gid)) for gid in port.gids if gid.type == "RoCE v2")
    return tuple(gid for gid, address in mapped if address and (not own or address in own))


def addresses(facts: HostFacts, device: RdmaDevice) -> frozenset[str]:
    """The IPv4 addresses of the device's interfaces; none where they are not known."""
    if not is_known(facts.network):
        return frozenset()
    found = (a for one in facts.network.interfaces if one.name in device.netdevs for a in one.addresses)
    return frozenset(address for address in found if is_ipv4(address))


def is_ipv4(text: str) -> bool:
    try:
        return ip_address(text).version == 4
    except ValueError:
        return False


def ipv4(gid: Gid) -> str | None:
    """`192.0.2.1` in 0000:0000:0000:0000:0000:ffff:c000:0201."""
    try:
        mapped = IPv6Address(gid.value).ipv4_mapped
    except ValueError:
        return None
    return str(mapped) if mapped else None


def index_of(facts: HostFacts, needs: HostRequirements) -> int | None:
    """The lowest index that serves on every planned port, else that of the first port."""
    tables = [{gid.index for gid in routable(facts, d, p)} for d, p in roce_ports(facts, needs)]
    tables = [table for table in tables if table]
    if not tables:
        return None
    return min(set.intersection(*tables) or tables[0])


def not_at(said: str, facts: HostFacts, needs: HostRequirements) -> list[str]:
    """The planned ports on which the index that the plan names is no routable GID; `-1` lets NCCL choose."""
    if not said.isdecimal():
        return []
    ports = roce_ports(facts, needs)
    return [d.name for d, p in ports if p.gids and int(said) not in {gid.index for gid in routable(facts, d, p)}]
