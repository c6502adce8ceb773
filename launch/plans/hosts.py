"""Each host of a plan: its NUMA nodes, GPUs with their ranks, NICs, links, processes and the exact command. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from launch.choosing.selection import clique_of
from launch.placing.placement import LoadBalancing
from launch.placing.processes import processes_of
from launch.placing.usable import unusable
from launch.plans import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inventory.facts.host import HostFacts
    from launch.choosing.decide import Decision
    from launch.placing.placement import Node, Placement

NOT_NEEDED = "the layout needs no more GPUs of this host"


def hosts_of(decision: Decision, facts: Mapping[str, HostFacts]) -> tuple[document.Host, ...]:
    pairs = zip(decision.placement.nodes, decision.commands, strict=True)
    return tuple(
        document.Host(
            name=node.host,
            node_rank=node.node_rank,
            role=_role(node, decision.placement),
            address=node.address,
            interface=node.interface,
            url=next(_urls(node, decision.placement), ""),
            urls=tuple(_urls(node, decision.placement)),
            ranks=tuple(document.Rank(rank.index, rank.gpus, rank.numa_node) for rank in node.ranks),
            gpus=tuple(_gpus(node, decision.placement, facts[node.host])),
            numa=tuple(_numa(facts[node.host])),
            nics=tuple(_nics(facts[node.host])),
            links=tuple(_links(facts[node.host])),
            clique=clique_of(facts[node.host]),
            processes=_processes(node, decision, facts[node.host]),
            env=command.env,
            argv=command.argv,
            pins=node.pins,
        )
        for node, command in pairs
    )


def _urls(node: Node, placement: Placement) -> Iterator[str]:
    """One for all its ranks, or with external load balancing one for each, on ports that follow one another."""
    address = f"[{node.address}]" if ":" in node.address else node.address
    servers = len(node.ranks) if placement.load_balancing is LoadBalancing.EXTERNAL else 1
    for server in range(servers if node.serves else 0):
        yield f"http://{address}:{placement.http_port + server}"


def _role(node: Node, placement: Placement) -> str:
    if len(placement.nodes) == 1:
        return "single"
    if node.node_rank == 0:
        return "head"
    return "peer" if node.serves else "follower"


def _gpus(node: Node, placement: Placement, facts: HostFacts) -> Iterator[document.Gpu]:
    if not is_known(facts.gpus):
        return
    first = node.node_rank * placement.gpus_per_part if placement.hosts_per_rank > 1 else 0
    uses = {gpu: (rank.index, first + at) for rank in node.ranks for at, gpu in enumerate(rank.gpus)}
    for gpu in facts.gpus.devices:
        rank, worker = uses.get(gpu.index, (None, None))
        unused = "" if rank is not None else unusable(gpu) or NOT_NEEDED
        yield document.Gpu(gpu.index, gpu.name, gpu.memory_bytes, gpu.pci_address, gpu.numa_node, rank, worker, unused)


def _numa(facts: HostFacts) -> Iterator[document.NumaNode]:
    if not is_known(facts.numa):
        return
    gpus = facts.gpus.devices if is_known(facts.gpus) else ()
    nics = facts.rdma if is_known(facts.rdma) else ()
    for node in facts.numa:
        yield document.NumaNode(
            id=node.id,
            cpus=node.cpus,
            memory_bytes=node.memory_bytes,
            gpus=tuple(gpu.index for gpu in gpus if gpu.numa_node == node.id),
            nics=tuple(nic.name for nic in nics if nic.numa_node == node.id),
        )


def _nics(facts: HostFacts) -> Iterator[document.Nic]:
    if not is_known(facts.rdma):
        return
    near = _nearest(facts)
    for nic in facts.rdma:
        speeds = [speed for port in nic.ports if (speed := port.gigabits) is not None]
        yield document.Nic(
            name=nic.name,
            numa_node=nic.numa_node,
            netdevs=nic.netdevs,
            active=any(port.is_active for port in nic.ports),
            link_layer=next((port.link_layer for port in nic.ports if port.link_layer), ""),
            gigabits=max(speeds, default=None),
            near=near.get(nic.name, ()),
        )


def _nearest(facts: HostFacts) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    if is_known(facts.gpus):
        for gpu in facts.gpus.devices:
            for link in facts.gpus.nearest_nics(gpu.index):
                found[str(link.to)] = (*found.get(str(link.to), ()), gpu.index)
    return found


def _links(facts: HostFacts) -> Iterator[document.Link]:
    if is_known(facts.gpus):
        for link in facts.gpus.links:
            if isinstance(link.to, int):
                yield document.Link(link.gpu, link.to, link.kind)


def _processes(node: Node, decision: Decision, facts: HostFacts) -> document.Processes:
    """Source of 2 + N: vLLM's "Optimization and Tuning", CPU resources."""
    counted = processes_of(node, decision.placement, api_servers=decision.api_servers[node.host])
    devices = sum(len(rank.gpus) for rank in node.ranks) or counted.workers
    return document.Processes(
        api_servers=counted.api_servers,
        launchers=counted.launchers,
        engine_cores=counted.engine_cores,
        workers=counted.workers,
        coordinators=counted.coordinators,
        cores=facts.cpu.physical_cores if is_known(facts.cpu) else None,
        least_cores=2 + devices,
    )
