from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.host import HostFacts
from playbooks.argv import options
from playbooks.checks.base import ON_HOST, Priority, by_value, odd_ones, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "net.mtu_equal"
PRIORITY = Priority.P1
WHY = "large packets of the host with the larger MTU vanish: small messages work and the first real one hangs"

_REQUIRED = "the same MTU on the planned interface of every host"
_LOOK = f"{ON_HOST}ip -br link"
_ROCE_LEAST = 4200  # 4096 bytes of payload and RoCE's own headers


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if len(needs.hosts) < 2:
        return (skip(ID, "", "one host: nothing to compare"),)
    all_of = {one.host: mtu_of(facts.get(one.host), one) for one in needs.hosts}
    unknown = tuple(unread(ID, h, m, _REQUIRED, _LOOK) for h, m in all_of.items() if isinstance(m, Unknown))
    known = {host: mtu for host, mtu in all_of.items() if isinstance(mtu, int)}
    return (*unknown, *(compare(known, smallest_roce(facts, needs)) if known else ()))


def smallest_roce(facts: Mapping[str, HostFacts], needs: Requirements) -> dict[str, int]:
    """The least MTU of each host's RoCE interfaces, where the ranks exchange experts over them."""
    backends = (options(one.argv).get("--all2all-backend") or "" for one in needs.hosts)
    if not needs.rdma or not any(one.startswith("deepep") for one in backends):
        return {}
    found = {one.host: roce_mtus(facts[one.host]) for one in needs.hosts if one.host in facts}
    return {host: min(mtus) for host, mtus in found.items() if mtus}


def roce_mtus(facts: HostFacts) -> list[int]:
    if not is_known(facts.rdma) or not is_known(facts.network):
        return []
    ethernet = (one for one in facts.rdma if any(port.link_layer == "Ethernet" for port in one.ports))
    names = {name for one in ethernet for name in one.netdevs}
    return [one.mtu for one in facts.network.interfaces if one.name in names]


def mtu_of(facts: HostFacts | None, needs: HostRequirements) -> int | Unknown:
    if facts is None:
        return Unknown(Why.NOT_ASKED, "no facts of this host")
    if not is_known(facts.network):
        return facts.network
    found = (one.mtu for one in facts.network.interfaces if one.name == needs.interface)
    return next(found, Unknown(Why.EMPTY, f"no interface {needs.interface!r}"))


def compare(known: Mapping[str, int], roce: Mapping[str, int]) -> tuple[Finding, ...]:
    if len(set(known.values())) > 1:
        remedy = f"on {', '.join(odd_ones(known))}: sudo ip link set INTERFACE mtu {most(known)}"
        return (Finding(ID, Status.FAIL, "", f"MTU {by_value(known)}", _REQUIRED, remedy),)
    small = {host: mtu for host, mtu in roce.items() if mtu < _ROCE_LEAST}
    if small:
        observed = f"RoCE interfaces with MTU {by_value(small)}: packets of RDMA stay under 4096 bytes"
        required = f"MTU {_ROCE_LEAST} and more for RoCE, where experts are exchanged over it"
        remedy = f"on {', '.join(small)}, and on the switches: sudo ip link set INTERFACE mtu 9000"
        return (Finding(ID, Status.WARN, "", observed, required, remedy),)
    return (Finding(ID, Status.PASS, "", f"MTU {by_value(known)}"),)


def most(known: Mapping[str, int]) -> int:
    values = list(known.values())
    return max(values, key=values.count)
