"""What a plan was made of, digested: flags as typed, the recipe's files, and of each host what the plan reads. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from launch.placing.usable import unusable
from launch.plans.document import Inputs
from playbooks.plan import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inventory.facts.host import Gpus, HostFacts, Network, RdmaDevice
    from launch.choosing.choice import Choice


def inputs_of(
    choice: Choice, asked: Sequence[tuple[str, str]], facts: Mapping[str, HostFacts], *, assumed: bool
) -> Inputs:
    """`asked`: flags that were given, by name."""
    seen = {host.name: digest([host.model_dump(mode="json"), _read(facts[host.name])]) for host in choice.hosts}
    recipe = recipe_digest(choice)
    return Inputs(
        digest=digest([sorted(asked), recipe, list(seen.items()), assumed]),
        asked=tuple(sorted(asked)),
        facts=tuple(seen.items()),
        recipe=recipe,
        assumed=assumed,
        simulated=any(facts[host.name].simulated for host in choice.hosts),
    )


def recipe_digest(choice: Choice) -> str:
    """Of the recipe's file as it is, and of the strategies and profiles that it refers to."""
    found = choice.found
    text = hashlib.sha256(found.path.read_bytes()).hexdigest()
    strategies = {name: one.model_dump(mode="json") for name, one in sorted(found.library.strategies.items())}
    profile = found.library.profile(choice.hardware).model_dump(mode="json")
    return digest([found.id, text, strategies, profile])


def _read(facts: HostFacts) -> list[object]:
    """What of a host's facts a plan looks at, without what changes from minute to minute."""
    return [
        _gpus(facts.gpus) if is_known(facts.gpus) else str(facts.gpus),
        asdict(facts.cpu) if is_known(facts.cpu) else str(facts.cpu),
        [asdict(node) for node in facts.numa] if is_known(facts.numa) else str(facts.numa),
        asdict(facts.numa_bind) if is_known(facts.numa_bind) else str(facts.numa_bind),
        [_nic(nic) for nic in facts.rdma] if is_known(facts.rdma) else str(facts.rdma),
        _network(facts.network) if is_known(facts.network) else str(facts.network),
        [facts.software.systemd, facts.software.container] if is_known(facts.software) else str(facts.software),
        [facts.system.uid, facts.system.can_sudo] if is_known(facts.system) else str(facts.system),
    ]


def _gpus(gpus: Gpus) -> list[object]:
    devices = [
        [gpu.index, gpu.name, gpu.memory_bytes, gpu.pci_address, gpu.numa_node, unusable(gpu)] for gpu in gpus.devices
    ]
    domains = [[gpu.health.fabric_cluster, gpu.health.fabric_clique] for gpu in gpus.devices]
    return [gpus.vendor, devices, domains, gpus.hidden, [asdict(link) for link in gpus.links]]


def _nic(nic: RdmaDevice) -> list[object]:
    ports = [[port.number, port.is_active, port.link_layer, port.gigabits] for port in nic.ports]
    return [nic.name, nic.numa_node, nic.netdevs, ports]


def _network(network: Network) -> list[object]:
    interfaces = [[one.name, one.addresses] for one in network.interfaces]
    return [interfaces, [asdict(route) for route in network.routes]]
