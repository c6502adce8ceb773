"""The lists of IMEX nodes are the same on all trays, and each tray finds itself in it once."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, odd_ones, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "fabric.imex_config"
PRIORITY = Priority.P1
WHY = "on a tray that is not in its list IMEX does not start, and trays with other lists do not talk to it"

FILE = "/etc/nvidia-imex/nodes_config.cfg"
PORT = 50000
_REQUIRED = f"the same {FILE} on all hosts, with one address of each"
_REMEDY = f"{ON_HOST}write the same {FILE} on every host, one address a line, then restart nvidia-imex on all together"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.mnnvl is False:
        return (skip(ID, "", "the plan uses no NVLink between hosts"),)
    hosts = {one.host: facts[one.host] for one in needs.hosts if one.host in facts}
    lists = {host: nodes for host, one in hosts.items() if (nodes := nodes_of(one)) is not None}
    if not any(lists.values()) and not needs.mnnvl:
        return (skip(ID, "", f"no host has a {FILE}"),)
    found = [finding for host, nodes in lists.items() for finding in of_host(hosts[host], nodes)]
    found += differing(lists)
    unread = [host for host in hosts if host not in lists] if needs.mnnvl else []
    found += [
        Finding(ID, Status.UNKNOWN, host, f"{FILE} could not be read", _REQUIRED, f"{ON_HOST}sudo cat {FILE}")
        for host in unread
    ]
    return tuple(found) or (Finding(ID, Status.PASS, "", f"one list of {len(next(iter(lists.values())))} nodes"),)


def nodes_of(facts: HostFacts) -> tuple[str, ...] | None:
    return facts.fabric.imex_nodes if is_known(facts.fabric) else None


def differing(lists: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    """The order counts: it numbers the nodes."""
    if len(set(lists.values())) < 2:
        return []
    said = {host: " ".join(nodes) or "empty" for host, nodes in lists.items()}
    text = "; ".join(f"{host}: {nodes}" for host, nodes in said.items())
    return [
        Finding(ID, Status.FAIL, host, f"the lists differ: {text}", _REQUIRED, _cure(host)) for host in odd_ones(said)
    ]


def of_host(facts: HostFacts, nodes: tuple[str, ...]) -> list[Finding]:
    """What is wrong with a host's own list."""
    wrong = [f"{one} is listed twice" for one in dict.fromkeys(nodes) if nodes.count(one) > 1]
    own = own_addresses(facts)
    if own is not None:
        mine = [one for one in nodes if normal(one) in own]
        if not nodes:
            wrong.append(f"{FILE} is not there, or names no node")
        elif not mine:
            wrong.append(f"none of {' '.join(nodes)} is on an interface of this host")
        elif len(set(mine)) > 1:
            wrong.append(f"this host is listed more than once: {' '.join(mine)}")
    daemons = listeners_of_imex(facts)
    if len(daemons) > 1:
        wrong.append(f"two daemons on port {PORT}: {', '.join(daemons)}")
    return [Finding(ID, Status.FAIL, facts.host, "; ".join(wrong), _REQUIRED, _cure(facts.host))] if wrong else []


def _cure(host: str) -> str:
    return by_playbook(host, "nvidia --model MODEL", _REMEDY)


def own_addresses(facts: HostFacts) -> frozenset[str] | None:
    if not is_known(facts.network):
        return None
    found = (address for one in facts.network.interfaces if one.name != "lo" for address in one.addresses)
    return frozenset(map(normal, found))


def normal(address: str) -> str:
    try:
        return str(ip_address(address.partition("%")[0].partition("/")[0]))
    except ValueError:
        return address


def listeners_of_imex(facts: HostFacts) -> list[str]:
    if not is_known(facts.listeners):
        return []
    return sorted({one.process for one in facts.listeners if one.port == PORT and one.process})
