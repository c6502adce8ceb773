"""How a resolved command lays out its ranks over hosts, read by the pinned vLLM's own option schema. Pure.

Only what we write out in full afterwards is taken; a mode that needs more of us than that is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inventory.errors import BadInput
from launch.hardware import CPU
from launch.place import Layout
from launch.placement import LoadBalancing
from launch.vllm_args.parse import parse

if TYPE_CHECKING:
    from launch.decide import Choice
    from launch.request import Request

EXTERNAL = ("data_parallel_external_lb", "data_parallel_rank", "data_parallel_multi_port_external_lb")


def layout_of(choice: Choice, request: Request, argv: Sequence[str], hosts: int) -> Layout:
    """The layout that `argv`, the head's command, asks for on `hosts` hosts. Raises `BadInput`."""
    values = parse(argv, choice.vllm).values
    tensor, pipeline = (number(values, f"{kind}_parallel_size") for kind in ("tensor", "pipeline"))
    spanned = number(values, "nnodes")
    _refuse(choice, values, spanned, hosts, tensor * pipeline)
    local = values.get("data_parallel_size_local") or values.get("data_parallel_size") or 1
    internal = choice.found.library.strategy(choice.strategy).bringup.load_balancing == "internal"
    hybrid = bool(values.get("data_parallel_hybrid_lb")) and not internal
    return Layout(
        load_balancing=LoadBalancing.HYBRID if hybrid else LoadBalancing.INTERNAL,
        tensor_parallel_size=tensor,
        ranks_per_host=int(local),
        http_port=request.http_port,
        rpc_port=request.rpc_port,
        needs_gpus=choice.hardware != CPU,
        pipeline_parallel_size=pipeline,
        hosts_per_rank=spanned,
    )


def number(values: Mapping[str, Any], dest: str) -> int:
    found = values.get(dest)
    return found if isinstance(found, int) else 1


def _refuse(choice: Choice, values: Mapping[str, Any], spanned: int, hosts: int, world: int) -> None:
    """What of vLLM's multi-node modes is not launched, and why."""
    for holds, reason in _reasons(values, spanned, hosts, world):
        if holds:
            raise BadInput(
                f"{choice.strategy} is not launched on these hosts",
                id="strategy-unsupported",
                observed=reason,
                required="a layout with internal or hybrid load balancing, or one rank over all hosts with mp",
                next_command="the same command with another --strategy, or another number of --hosts",
            )


def _reasons(values: Mapping[str, Any], spanned: int, hosts: int, world: int) -> Iterator[tuple[bool, str]]:
    ranks = number(values, "data_parallel_size")
    yield (
        any(values.get(dest, False) is not False for dest in EXTERNAL),  # rank 0 is one too
        "external load balancing: each rank is a server of its own; hybrid has an endpoint a host for the same ranks",
    )
    yield (
        "ray" in {values.get("data_parallel_backend"), values.get("distributed_executor_backend")},
        "Ray starts ranks through its own cluster on the hosts, which nothing here installs, watches or stops",
    )
    yield (
        spanned > 1 and ranks > 1,
        f"--nnodes {spanned} with {ranks} data-parallel ranks: vLLM would infer ranks and balancing from it",
    )
    yield spanned not in {1, hosts}, f"one rank over {spanned} hosts, and there are {hosts}"
    yield world % spanned != 0, f"a rank of {world} GPUs cannot be divided over {spanned} hosts"
    one_host = spanned == 1 and not values.get("data_parallel_size_local")
    yield hosts > 1 and one_host, f"one host's layout for {hosts} hosts"
