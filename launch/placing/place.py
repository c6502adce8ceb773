"""Decide who runs what where, from the facts of these very hosts. Pure; refuses with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import CheckFailed, raise_all
from inventory.facts.base import is_known
from launch.choosing.reasons import Reason
from launch.placing.addresses import address_of
from launch.placing.placement import LoadBalancing, Node, Placement, Rank
from launch.placing.usable import distance, teams, unusable, usable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    _refuse_too_few(counts, layout, facts)
    size = per_host * len(hosts) // layout.hosts_per_rank
    balancing = balancing_of(layout, len(hosts))
    nodes = tuple(
        _node(
            index,
            host,
            address_of(host, hosts[1:] if index == 0 else hosts[:1], facts),
            _ranks(index // layout.hosts_per_rank, layout, devices[host.name], facts[host.name]),
            serves=serves(index, balancing),
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
        reasons=tuple(_reasons(nodes, counts, layout, balancing, facts)),
        pipeline_parallel_size=layout.pipeline_parallel_size,
        hosts_per_rank=layout.hosts_per_rank,
    )


def balancing_of(layout: Layout, hosts: int) -> LoadBalancing:
    """How the ranks are reached on so many hosts; hybrid with one rank a host or on one host is internal.

    vLLM would switch these two to other modes by itself: what is written is what it does.
    """
    if layout.ranks_per_host * hosts // layout.hosts_per_rank == 1:
        return LoadBalancing.NONE
    alone = layout.ranks_per_host == 1 or hosts == 1
    return LoadBalancing.INTERNAL if layout.load_balancing is LoadBalancing.HYBRID and alone else layout.load_balancing


def serves(index: int, balancing: LoadBalancing) -> bool:
    return index == 0 or balancing in {LoadBalancing.HYBRID, LoadBalancing.EXTERNAL}


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
    return usable(facts.gpus)


def _refuse_too_few(counts: Mapping[str, int], layout: Layout, facts: Mapping[str, HostFacts]) -> None:
    needed = layout.ranks_per_host * layout.width if layout.needs_gpus else 0
    raise_all(
        [
            CheckFailed(
                "the host has too few usable GPUs for the layout",
                id="gpu.count",
                observed=f"{count} usable GPU(s){_shown(lost_gpus(facts[host]))}",
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


def lost_gpus(facts: HostFacts) -> tuple[tuple[str, str], ...]:
    """GPUs that no rank may have, and why: by index, or by PCI address where the driver does not show them."""
    if not is_known(facts.gpus):
        return ()
    seen = ((f"GPU {gpu.index}", why) for gpu in facts.gpus.devices if (why := unusable(gpu)))
    hidden = ((address, "on the bus, but its driver does not show it") for address in facts.gpus.hidden)
    return (*seen, *hidden)


def _shown(lost: Sequence[tuple[str, str]]) -> str:
    return "; " + "; ".join(f"{gpu} is {why}" for gpu, why in lost) if lost else ""


def _ranks(index: int, layout: Layout, devices: Sequence[Gpu], facts: HostFacts) -> tuple[Rank, ...]:
    per_host = layout.ranks_per_host
    links = facts.gpus.links if is_known(facts.gpus) else ()
    shares = teams(devices, links, layout.width, per_host) if devices else ((),) * per_host
    return tuple(_rank(index * per_host + local, local, share) for local, share in enumerate(shares))


def _rank(index: int, local: int, devices: Sequence[Gpu]) -> Rank:
    nodes = {gpu.numa_node for gpu in devices}
    return Rank(
        index=index,
        local_index=local,
        gpus=tuple(gpu.index for gpu in devices),
        numa_node=nodes.pop() if len(nodes) == 1 else None,
    )


def _reasons(
    nodes: Sequence[Node],
    counts: Mapping[str, int],
    layout: Layout,
    balancing: LoadBalancing,
    facts: Mapping[str, HostFacts],
) -> Iterator[Reason]:
    per_host = layout.ranks_per_host
    numbers = [("TP", layout.tensor_parallel_size), ("PP", layout.pipeline_parallel_size), ("ranks a host", per_host)]
    yield Reason(
        "ranks",
        _sizes(layout),
        "the recipe's command for this strategy; a rank takes TP x PP GPUs, divided over the hosts that it spans"
        if layout.needs_gpus
        else "set by the recipe for hosts without GPUs",
        tuple((name, str(value)) for name, value in numbers if value > 1 or name != "PP"),
        "recipe",
    )
    yield from _gpu_reasons(nodes, counts, layout, facts)
    if len(nodes) > 1:
        head = nodes[0]
        rule = f"the address of {head.interface}, by which the others reach it"
        yield Reason("join", f"{head.address}:{layout.rpc_port}", rule, source=f"routes of {head.host}")
    yield _mode(nodes, layout, balancing)


def _gpu_reasons(
    nodes: Sequence[Node], counts: Mapping[str, int], layout: Layout, facts: Mapping[str, HostFacts]
) -> Iterator[Reason]:
    if not layout.needs_gpus:
        return
    for node in nodes:
        used = [gpu for rank in node.ranks for gpu in rank.gpus]
        lost = lost_gpus(facts[node.host])
        if lost or len(used) != counts[node.host] or used != sorted(used):
            rule = "the GPUs of a rank are those with the shortest links between them, in the order of their indices"
            numbers = (("usable", str(counts[node.host])), ("used", str(len(used))), *lost)
            yield Reason(f"GPUs of {node.host}", _listed(node), rule, numbers, f"facts of {node.host}", bool(lost))
        far = _farthest(node, facts[node.host])
        if far:
            rule = "no division of the GPUs into ranks has a shorter longest link"
            yield Reason(f"links of {node.host}", far, rule, source=f"facts of {node.host}")


def _listed(node: Node) -> str:
    return "; ".join(f"rank {rank.index}: {', '.join(map(str, rank.gpus))}" for rank in node.ranks)


def _farthest(node: Node, facts: HostFacts) -> str:
    """The longest link within a rank where it is not the vendor's fabric; empty where nothing tells."""
    if not is_known(facts.gpus):
        return ""
    within = {frozenset((a, b)) for rank in node.ranks for a in rank.gpus for b in rank.gpus if a != b}
    kinds = {link.kind for link in facts.gpus.links if frozenset((link.gpu, link.to)) in within}
    farthest = max(kinds, key=lambda kind: (distance(kind), kind), default="")
    return farthest if farthest and distance(farthest) else ""


def _mode(nodes: Sequence[Node], layout: Layout, balancing: LoadBalancing) -> Reason:
    source = "vLLM: data parallel deployment"
    if layout.hosts_per_rank > 1:
        rule = "multiprocessing over the hosts, not Ray: the head serves, the others hold workers of its rank"
        return Reason("endpoints", "one, on the head", rule, source="vLLM: parallelism and scaling")
    if balancing is LoadBalancing.EXTERNAL:
        rule = "external load balancing: an endpoint for every rank, something in front spreads the requests over them"
        return Reason("endpoints", str(len(nodes) * layout.ranks_per_host), rule, source=source)
    if balancing is LoadBalancing.HYBRID:
        rule = "hybrid load balancing: an endpoint on every host for its own ranks"
        return Reason("endpoints", str(len(nodes)), rule, source=source)
    if balancing is LoadBalancing.INTERNAL and len(nodes) > 1:
        rule = "internal load balancing: API servers on the head, followers headless"
        return Reason("endpoints", "one, on the head", rule, source=source)
    return Reason("endpoints", "one", "one host", source=source)


def _sizes(layout: Layout) -> str:
    pipeline = f" x PP {layout.pipeline_parallel_size}" if layout.pipeline_parallel_size > 1 else ""
    if layout.hosts_per_rank > 1:
        return f"1 rank over {layout.hosts_per_rank} hosts, TP {layout.tensor_parallel_size}{pipeline}"
    return f"{layout.ranks_per_host} rank(s) a host, TP {layout.tensor_parallel_size}{pipeline}"
