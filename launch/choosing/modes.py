"""One choice in another of vLLM's ways to spread ranks over nodes, for a person to read: no host is known. Pure.

Load balancing is written as a deploy writes it. Ray is not launched by bringup, so this is all there is of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.building.command import parallel_words, without_owned
from launch.placing.layout import RAY_OPTIONS, layout_of
from launch.placing.place import balancing_of, serves
from launch.placing.placement import LoadBalancing, Node, Placement, Rank
from launch.request import DEFAULT_RPC_PORT, Request

if TYPE_CHECKING:
    from launch.choosing.choice import Choice
    from launch.placing.place import Layout
    from launch.vllm_args.translations import Translated

HEAD, INTERFACE = "$HEAD_IP", "$IFACE_NAME"
RAY_PORT = 6379
OWN_ADDRESS = {"GLOO_SOCKET_IFNAME": INTERFACE, "NCCL_SOCKET_IFNAME": INTERFACE, "VLLM_HOST_IP": "$NODE_IP"}
"""Ray takes these from the process that it is started in on each node: of GLOO it copies nothing from the head."""


@dataclass(frozen=True, slots=True)
class Command:
    """What one node runs. `$HEAD_IP` and `$IFACE_NAME` stand for what a placement fills in."""

    role: str
    rank: int
    env: Mapping[str, str]
    argv: tuple[str, ...]


def balanced(choice: Choice, said: Sequence[Translated], request: Request, nodes: int) -> Iterator[Command]:
    """The command of every node with the load balancing of `request`. Raises `BadInput` where it cannot be had."""
    layout = layout_of(choice, request, said[0].argv, nodes)
    placement = _placement(layout, nodes)
    for node in placement.nodes:
        one = said[min(node.node_rank, len(said) - 1)]
        options, _ = without_owned(one.argv[3:])
        words = [*options, *parallel_words(node, placement), *(_port(placement) if node.serves else ())]
        role = "single" if nodes == 1 else "head" if node.node_rank == 0 else "worker"
        yield Command(role, node.node_rank, one.env, (*one.argv[:3], *words))


def _placement(layout: Layout, nodes: int) -> Placement:
    """As `place` has it, without hosts: nothing is known of their GPUs and addresses."""
    balancing = balancing_of(layout, nodes)
    local = layout.ranks_per_host
    return Placement(
        load_balancing=balancing,
        tensor_parallel_size=layout.tensor_parallel_size,
        data_parallel_size=local * nodes // layout.hosts_per_rank,
        nodes=tuple(
            Node(
                host=f"node{index}",
                node_rank=index,
                address=HEAD,
                interface=INTERFACE,
                ranks=tuple(
                    Rank(index // layout.hosts_per_rank * local + one, one, (), numa_node=None) for one in range(local)
                ),
                serves=serves(index, balancing),
            )
            for index in range(nodes)
        ),
        http_port=layout.http_port,
        rpc_port=layout.rpc_port,
        reasons=(),
        pipeline_parallel_size=layout.pipeline_parallel_size,
        hosts_per_rank=layout.hosts_per_rank,
    )


def _port(placement: Placement) -> tuple[str, ...]:
    """Written where it says more than itself: the servers of a host have the ports from this one on."""
    return ("--port", str(placement.http_port)) if placement.load_balancing is LoadBalancing.EXTERNAL else ()


def with_ray(choice: Choice, said: Sequence[Translated], nodes: int, gpus: int) -> Iterator[Command]:
    """What starts Ray on every node, then the one command of the head: Ray starts the ranks of all nodes from there.

    Ray is no dependency of vLLM: it must be in the environment of every node. Options of the other ways are left out,
    because vLLM refuses them with Ray or would look for hosts that nobody starts.
    """
    one = said[0]
    options, _ = without_owned(_without_ray(one.argv[3:]))
    layout = layout_of(choice, Request(choice.found.id), (*one.argv[:3], *_without_ray(one.argv[3:])), nodes)
    resources = ["--num-gpus", str(gpus)]
    env = {**one.env, **OWN_ADDRESS}
    head = ["--head", "--node-ip-address", HEAD, "--port", str(RAY_PORT), *resources]
    yield Command("ray, head", 0, env, ("ray", "start", *head))
    for rank in range(1, nodes):
        yield Command("ray, follower", rank, env, ("ray", "start", "--address", f"{HEAD}:{RAY_PORT}", *resources))
    words = [*options, *_ray_words(layout, nodes)]
    yield Command("head, when Ray has all nodes", 0, env | _packed(layout), (*one.argv[:3], *words))


def _without_ray(options: Sequence[str]) -> list[str]:
    """Without what asks for Ray already: flag and value."""
    kept: list[str] = []
    words = iter(options)
    for word in words:
        if word in RAY_OPTIONS:
            next(words, None)
        elif word.partition("=")[0] not in RAY_OPTIONS:
            kept.append(word)
    return kept


def _ray_words(layout: Layout, nodes: int) -> list[str]:
    words = ["--tensor-parallel-size", str(layout.tensor_parallel_size)]
    if layout.pipeline_parallel_size > 1:
        words += ["--pipeline-parallel-size", str(layout.pipeline_parallel_size)]
    if layout.hosts_per_rank > 1:
        return [*words, "--distributed-executor-backend", "ray"]
    words += ["--data-parallel-size", str(layout.ranks_per_host * nodes)]
    words += ["--data-parallel-size-local", str(layout.ranks_per_host), "--data-parallel-address", HEAD]
    words += ["--data-parallel-rpc-port", str(DEFAULT_RPC_PORT)]
    return [*words, "--data-parallel-backend", "ray"]


def _packed(layout: Layout) -> dict[str, str]:
    """Whole ranks a node, as many as on the head: vLLM's own default, written out."""
    return {} if layout.hosts_per_rank > 1 else {"VLLM_RAY_DP_PACK_STRATEGY": "strict"}
