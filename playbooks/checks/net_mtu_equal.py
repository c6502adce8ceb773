from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_value, odd_ones, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "net.mtu_equal"
PRIORITY = Priority.P1
WHY = "large packets of the host with the larger MTU vanish: small messages work and the first real one hangs"

_REQUIRED = "the same MTU on the planned interface of every host"
_LOOK = f"{ON_HOST}ip -br link"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if len(needs.hosts) < 2:
        return (skip(ID, "", "one host: nothing to compare"),)
    all_of = {one.host: mtu_of(facts.get(one.host), one) for one in needs.hosts}
    unknown = tuple(unread(ID, h, m, _REQUIRED, _LOOK) for h, m in all_of.items() if isinstance(m, Unknown))
    known = {host: mtu for host, mtu in all_of.items() if isinstance(mtu, int)}
    return (*unknown, *(compare(known) if known else ()))


def mtu_of(facts: HostFacts | None, needs: HostRequirements) -> int | Unknown:
    if facts is None:
        return Unknown(Why.NOT_ASKED, "no facts of this host")
    if not is_known(facts.network):
        return facts.network
    found = (one.mtu for one in facts.network.interfaces if one.name == needs.interface)
    return next(found, Unknown(Why.EMPTY, f"no interface {needs.interface!r}"))


def compare(known: Mapping[str, int]) -> tuple[Finding, ...]:
    if len(set(known.values())) == 1:
        return (Finding(ID, Status.PASS, "", f"MTU {by_value(known)}"),)
    remedy = f"on {', '.join(odd_ones(known))}: sudo ip link set INTERFACE mtu {most(known)}"
    return (Finding(ID, Status.FAIL, "", f"MTU {by_value(known)}", _REQUIRED, remedy),)


def most(known: Mapping[str, int]) -> int:
    values = list(known.values())
    return max(values, key=values.count)
