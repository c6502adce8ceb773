"""Decide who runs what where, from the facts of these very hosts. Pure; refuses with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import CheckFailed, raise_all
from inventory.facts.base import is_known
from launch.addresses import address_of
from launch.placement import LoadBalancing, Node, Placement, Rank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inventory.facts.host import Gpu, HostFacts
    from inventory.schema import Host


@dataclass(frozen=True, slots=True)
class Layout:
    """What the recipe's strategy asks for: `ranks_per_host` ranks of TP x PP GPUs (none on CPU).

    With `hosts_per_rank` above 1, one rank over all hosts, and `ranks_per_host` is 1.
    """

    load_balancing: LoadBalancing  # for several ranks; a single rank needs none
    tensor_parallel_size: int
    ranks_per_host: int
    http_port: int
    rpc_port: int
    needs_gpus: bool
    pipeline_parallel_size: int = 1
    hosts_per_rank: int = 1

    @property
    def width(self) -> int:
        """GPUs of a rank on one host."""
        return self.tensor_parallel_size * self.pipeline_parallel_size // self.hosts_per_rank


def place(hosts: Sequence[Host], facts: Mapping[str, HostFacts], layout: Layout) -> Placement:
    """Place ranks on `hosts` in their order: the first is the head.

    Raises `CheckFailed` (or several): a host's GPUs are unknown, too few, or not as many as on the others.
    """
    devices = {host.name: _devices(host, facts[host.name], layout) for host in hosts}
    counts = {name: len(found) for name, found in devices.items()}
    per_host = layout.ranks_per_host
    _refuse_too_few(counts, layout)
    size = per_host * len(hosts) // layout.hosts_per_rank
    balancing = layout.load_balancing if size > 1 else LoadBalancing.NONE
    if balancing is LoadBalancing.HYBRID and (per_host == 1 or len(hosts) == 1):
        # vLLM would switch these to other modes by itself: write what it would do.
        balancing = LoadBalancing.INTERNAL
    nodes = tuple(
        _node(
            index,
            host,
            address_of(host, hosts[1:] if index == 0 else hosts[:1], facts),
            _ranks(index // layout.hosts_per_rank, per_host, devices[host.name], layout.width),
            serves=index == 0 or balancing is LoadBalancing.HYBRID,
        )
        for index, host in enumerate(hosts)
    )
    return Placement(
        load_balancing=balancing,
        tensor_parallel_size=layout.tensor_parallel_size,
        data_parallel_size=size,
        nodes=nodes,
        http_port=layout.http_port,
        rpc_port=layout.rpc_port,
        reasons=_reasons(nodes, counts, layout, balancing),
        pipeline_parallel_size=layout.pipeline_parallel_size,
        hosts_per_rank=layout.hosts_per_rank,
    )


def _devices(host: Host, facts: HostFacts, layout: Layout) -> tuple[Gpu, ...]:
    if not layout.needs_gpus:
        return ()
    if not is_known(facts.gpus):
        raise CheckFailed(
            "the GPUs of the host are unknown",
            id="gpu.nvml",
            observed=str(facts.gpus),
            required="an answer of the GPU driver",
            next_command=f"invoke probe --hosts {host.name}",
            host=host.name,
        )
    if facts.gpus.vendor == "none":
        raise CheckFailed(
            "the host has no GPU",
            id="gpu.count",
            observed="no device of a known GPU vendor",
            required=f"at least {layout.width} GPU(s)",
            next_command="choose hosts that have GPUs, or a recipe for CPU: --model tiny-dense",
            host=host.name,
        )
    return tuple(gpu for gpu in facts.gpus.devices if not gpu.mig_enabled)


def _refuse_too_few(counts: Mapping[str, int], layout: Layout) -> None:
    needed = layout.ranks_per_host * layout.width if layout.needs_gpus else 0
    raise_all(
        [
            CheckFailed(
                "the host has too few usable GPUs for the layout",
                id="gpu.count",
                observed=f"{count} GPU(s) without MIG",
                required=f"{needed}: {_sizes(layout)}",
                next_command=f"invoke probe --hosts {host}, or leave it out of --hosts",
                host=host,
            )
            for host, count in counts.items()
            if count < needed
        ]
    )


def _node(index: int, host: Host, address: tuple[str, str], ranks: tuple[Rank, ...], *, serves: bool) -> Node:
    return Node(host=host.name, node_rank=index, address=address[0], interface=address[1], ranks=ranks, serves=serves)


def _ranks(index: int, per_host: int, devices: Sequence[Gpu], width: int) -> tuple[Rank, ...]:
    return tuple(
        _rank(index * per_host + local, local, devices[local * width : (local + 1) * width])
        for local in range(per_host)
    )


def _rank(index: int, local: int, devices: Sequence[Gpu]) -> Rank:
    nodes = {gpu.numa_node for gpu in devices}
    return Rank(
        index=index,
        local_index=local,
        gpus=tuple(gpu.index for gpu in devices),
        numa_node=nodes.pop() if len(nodes) == 1 else None,
    )


def _reasons(
    nodes: Sequence[Node], counts: Mapping[str, int], layout: Layout, balancing: LoadBalancing
) -> tuple[str, ...]:
    head, per_host = nodes[0], len(nodes[0].ranks)
    lines = [
        f"{_sizes(layout)}; {per_host * layout.width} of {counts[head.host]} GPU(s) a host"
        if layout.needs_gpus
        else f"{per_host} rank(s) a host: set by the recipe for hosts without GPUs",
        f"head {head.host}: the first of --hosts",
    ]
    if len(nodes) > 1:
        lines.append(f"joined at {head.address}: the address of {head.interface}, by which the others reach it")
    if layout.hosts_per_rank > 1:
        lines.append("multiprocessing over the hosts, not Ray: the head serves, the others hold workers of its rank")
    if balancing is LoadBalancing.INTERNAL and len(nodes) > 1:
        lines.append("internal load balancing: API servers on the head, followers headless")
    if balancing is LoadBalancing.HYBRID:
        lines.append("hybrid load balancing: an endpoint on every host for its own ranks")
    return tuple(lines)


def _sizes(layout: Layout) -> str:
    pipeline = f" x PP {layout.pipeline_parallel_size}" if layout.pipeline_parallel_size > 1 else ""
    if layout.hosts_per_rank > 1:
        return f"1 rank over {layout.hosts_per_rank} hosts, TP {layout.tensor_parallel_size}{pipeline}"
    return f"{layout.ranks_per_host} rank(s) a host, TP {layout.tensor_parallel_size}{pipeline}"
