"""Hosts whose GPUs are on the PCI bus and have no driver that answers. No model is placed there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from inventory.errors import BringupError, CheckFailed, raise_all
from inventory.facts.base import Unknown, is_known
from inventory.quoting import quote

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts

EQUIPS = {"nvidia": "nvidia", "amd": "amd"}
"""The playbook that brings a vendor's driver."""


def bare_hosts(facts: Mapping[str, HostFacts]) -> dict[str, str]:
    """The vendor of the GPUs by host, of hosts without a driver that answers."""
    vendors = {name: vendor_on_bus(one) for name, one in facts.items() if isinstance(one.gpus, Unknown)}
    return {name: vendor for name, vendor in vendors.items() if vendor}


def vendor_on_bus(facts: HostFacts) -> str | None:
    """None: the bus has no GPUs, GPUs of several vendors, or was not read."""
    found = {one.vendor for one in facts.bus_gpus} if is_known(facts.bus_gpus) else set()
    return found.pop() if len(found) == 1 else None


def is_equipped(bare: Mapping[str, str], playbooks: Iterable[str]) -> bool:
    """Whether one of `playbooks` brings the drivers of all `bare` hosts."""
    return {EQUIPS[vendor] for vendor in bare.values()} <= set(playbooks)


def refuse_bare(bare: Mapping[str, str], facts: Mapping[str, HostFacts], playbooks: Iterable[str] = ()) -> None:
    """Refuse to place a model on `bare` hosts. `playbooks`: that have been applied and did not help."""
    raise_all([_refusal(vendor, bare, facts, set(playbooks)) for vendor in sorted(set(bare.values()))])


def _refusal(vendor: str, bare: Mapping[str, str], facts: Mapping[str, HostFacts], applied: set[str]) -> BringupError:
    hosts = [name for name, one in bare.items() if one == vendor]
    told = "; ".join(f"{name}: {_said(facts[name])}" for name in hosts)
    chosen, playbook = ",".join(hosts), EQUIPS[vendor]
    command = f"invoke install --hosts {quote(chosen)} --playbook {playbook}  # then the same command again"
    if playbook in applied:
        command = f"invoke check --hosts {quote(chosen)}  # {playbook} is as its playbook says; the GPUs do not answer"
    return CheckFailed(
        "GPUs have no driver that answers, so no model can be placed on them",
        id="driver-missing",
        observed=told,
        required="a driver that tells what the GPUs are",
        next_command=command,
        host=hosts[0] if len(hosts) == 1 else "",
    )


def _said(facts: HostFacts) -> str:
    count = len(facts.bus_gpus) if is_known(facts.bus_gpus) else 0
    return f"{count} GPUs on the PCI bus; {facts.gpus.detail}" if isinstance(facts.gpus, Unknown) else f"{count} GPUs"
