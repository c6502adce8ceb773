"""Every tray of a plan over NVLink is ready in the IMEX domain and connected with every other."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from inventory.facts.base import is_known
from inventory.facts.gpu import commands
from inventory.facts.host import Fabric, HostFacts, ImexDomain
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "fabric.imex_domain"
PRIORITY = Priority.P0
WHY = "memory is shared over NVLink between trays only while IMEX on all of them is connected"

MEANS = {
    "I": "not reachable",
    "N": "never connected",
    "R": "recovering",
    "D": "disconnected",
    "A": "authenticating",
    "!V!": "another version: !V! is a version mismatch",
    "!M!": "another list of nodes",
}
_REQUIRED = "nvidia-imex is active on every host, all planned nodes READY, every pair connected (C)"
_LOOK = f"{ON_HOST}{commands.IMEX}"
_RESTART = f"{_LOOK}; the same IMEX version and nodes_config.cfg on all trays, then restart it on all together"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.mnnvl is False:
        return (skip(ID, "", "the plan uses no NVLink between hosts"),)
    told = {one.host: facts[one.host].fabric for one in needs.hosts if one.host in facts}
    fabrics = {host: fabric for host, fabric in told.items() if is_known(fabric)}
    domains = {host: fabric.imex_domain for host, fabric in fabrics.items() if fabric.imex_domain}
    if not needs.mnnvl and not domains:
        return (skip(ID, "", "the plan does not tell that it uses NVLink between hosts"),)
    down = {host: fabric.imex for host, fabric in fabrics.items() if fabric.imex not in {"active", None}}
    if down and (needs.mnnvl or domains):
        return tuple(
            Finding(ID, Status.FAIL, host, f"nvidia-imex is {state}", _REQUIRED, _cure(host))
            for host, state in down.items()
        )
    planned = addresses(facts, needs)
    found = [finding for host, domain in domains.items() for finding in judge(host, domain, planned)]
    return tuple(found) or (silent(fabrics, needs) if not domains else passed(domains))


def judge(host: str, domain: ImexDomain, planned: frozenset[str]) -> list[Finding]:
    """What is wrong with the domain as one host sees it. Nodes that the plan does not use may be away."""
    used = {node.index for node in domain.nodes if node.address in planned} or {node.index for node in domain.nodes}
    away = [node for node in domain.nodes if node.index in used and node.state != "READY"]
    broken = [pair for pair in domain.broken if pair[0] in used and pair[1] in used]
    parts = [f"node {node.index} ({node.address}) is {node.state}" for node in away]
    parts += [f"{one} to {other}: {symbol} ({MEANS.get(symbol, 'not connected')})" for one, other, symbol in broken]
    versions = {node.version for node in domain.nodes if node.index in used and node.version}
    if len(versions) > 1:
        parts.append(f"versions {', '.join(sorted(versions))}")
    if not domain.nodes and domain.state != "READY":
        parts.append(f"this node is {domain.state}")
    return [Finding(ID, Status.FAIL, host, "; ".join(parts[:8]), _REQUIRED, _cure(host))] if parts else []


def _cure(host: str) -> str:
    return by_playbook(host, "nvidia --model MODEL", _RESTART)


def addresses(facts: Mapping[str, HostFacts], needs: Requirements) -> frozenset[str]:
    """Every address of every planned host."""
    networks = (facts[one.host].network for one in needs.hosts if one.host in facts)
    return frozenset(
        str(ip_address(address.partition("%")[0]))
        for network in networks
        if is_known(network)
        for interface in network.interfaces
        for address in interface.addresses
    )


def silent(fabrics: Mapping[str, Fabric], needs: Requirements) -> tuple[Finding, ...]:
    """No host's tool tells the domain: the service can be set to take no commands (IMEX_CMD_ENABLED)."""
    active = [host for host, fabric in fabrics.items() if fabric.imex == "active"]
    observed = "IMEX tells no domain" + (f"; nvidia-imex is active on {', '.join(active)}" if active else "")
    status = Status.WARN if len(active) == len(needs.hosts) else Status.UNKNOWN
    return (Finding(ID, status, "", observed, _REQUIRED, _LOOK),)


def passed(domains: Mapping[str, ImexDomain]) -> tuple[Finding, ...]:
    return (Finding(ID, Status.PASS, "", f"READY and connected, as {', '.join(domains)} see it"),)
