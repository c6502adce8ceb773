"""Proxies that would stand between hosts of the gang, or between a rank and itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.ambient import environment_of
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "net.proxy"
PRIORITY = Priority.P1
WHY = "a probe that goes through a proxy gets its error page instead of the engine's answer"

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_REQUIRED = "no_proxy has 127.0.0.1, localhost and the addresses of all hosts, or no proxy is set"
CONTROL = "the control machine"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    addresses = tuple(dict.fromkeys(one.address for one in needs.hosts if one.address))
    told = {one.host: {**ambient(facts.get(one.host)), **dict(one.env)} for one in needs.hosts}
    findings = [of_one(host, f"the ranks of {host}", env, addresses) for host, env in told.items()]
    findings.append(of_one("", CONTROL, dict(needs.control_env), addresses))
    wrong = tuple(one for one in findings if one.status is not Status.SKIP)
    return wrong or (skip(ID, "", "no proxy is set for the ranks or on the control machine"),)


def ambient(facts: HostFacts | None) -> Mapping[str, str]:
    """What ranks are started with beside the plan: nothing where their environment is cleared."""
    if facts is None or not is_known(facts.context) or facts.context.is_cleared:
        return {}
    return environment_of(facts) or {}


def of_one(host: str, who: str, env: Mapping[str, str], addresses: Iterable[str]) -> Finding:
    lower = {name.lower(): value for name, value in env.items()}
    proxies = [f"{name}={lower[name]}" for name in _PROXIES if lower.get(name)]
    if not proxies:
        return skip(ID, host, "no proxy is set")
    spared = lower.get("no_proxy", "")
    lacks = [one for one in ("127.0.0.1", "localhost", *addresses) if not is_spared(one, spared)]
    if not lacks:
        return Finding(ID, Status.PASS, host, f"{who}: {proxies[0]}, and no_proxy spares all hosts")
    whole = ",".join([*(part for part in spared.split(",") if part.strip()), *lacks])
    where = "export" if who == CONTROL else "in inventory/hosts.yaml, env:"
    observed = f"{who}: {proxies[0]}, and no_proxy lacks {', '.join(lacks)}"
    return Finding(ID, Status.WARN, host, observed, _REQUIRED, f"{where} NO_PROXY={whole} no_proxy={whole}")


def is_spared(name: str, no_proxy: str) -> bool:
    return any(matches(name, entry.strip()) for entry in no_proxy.split(",") if entry.strip())


def matches(name: str, entry: str) -> bool:
    """Exactly, as the end of a domain, or as an address of a network."""
    if entry in {"*", name} or name.endswith(f".{entry.lstrip('.')}"):
        return True
    try:
        return ipaddress.ip_address(name) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
