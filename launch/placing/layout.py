"""How a resolved command lays out its ranks over hosts, read by the pinned vLLM's own option schema. Pure.

Only what we write out in full afterwards is taken; a mode that needs more of us than that is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inventory.errors import BadInput
from launch.choosing.hardware import CPU
from launch.memory.of_recipe import architecture_of
from launch.placing.place import Layout
from launch.placing.placement import LoadBalancing
from launch.vllm_args.parse import parse

if TYPE_CHECKING:
    from launch.choosing.decide import Choice
    from launch.request import Request

EXTERNAL = ("data_parallel_external_lb", "data_parallel_rank")
RAY_OPTIONS = ("--data-parallel-backend", "--distributed-executor-backend")
MULTI_PORT = "data_parallel_multi_port_external_lb"


def layout_of(choice: Choice, request: Request, argv: Sequence[str], hosts: int) -> Layout:
    """The layout that `argv`, the head's command, asks for on `hosts` hosts. Raises `BadInput`."""
    values = parse(argv, choice.vllm).values
    tensor, pipeline = (number(values, f"{kind}_parallel_size") for kind in ("tensor", "pipeline"))
    spanned = number(values, "nnodes")
    _refuse(choice, values, spanned, hosts, tensor * pipeline)
    _refuse_undivided(choice, tensor)
    local = values.get("data_parallel_size_local") or values.get("data_parallel_size") or 1
    if _is_one_process_per_rank(values):  # as the command of one rank has it
        local = number(values, "data_parallel_size") // hosts
    return Layout(
        load_balancing=_balancing(choice, request, values),
        tensor_parallel_size=tensor,
        ranks_per_host=int(local),
        http_port=request.http_port,
        rpc_port=request.rpc_port,
        needs_gpus=choice.hardware != CPU,
        pipeline_parallel_size=pipeline,
        hosts_per_rank=spanned,
    )


def _balancing(choice: Choice, request: Request, values: Mapping[str, Any]) -> LoadBalancing:
    """How the ranks are reached: as the operator wants, else as our strategy says, else as the command does."""
    said = request.load_balancing or choice.found.library.strategy(choice.strategy).bringup.load_balancing
    if _is_one_process_per_rank(values) or values.get(MULTI_PORT):
        found = LoadBalancing.EXTERNAL
    else:
        found = LoadBalancing.HYBRID if values.get("data_parallel_hybrid_lb") else LoadBalancing.INTERNAL
    balancing = LoadBalancing(request.load_balancing or (said if said in {"internal", "external"} else found))
    if request.load_balancing and number(values, "data_parallel_size") == 1:
        raise _unsuited(choice, "one rank: nothing is balanced", f"--load-balancing {balancing}")
    if balancing is LoadBalancing.EXTERNAL and choice.found.recipe.model.architecture == "dense":
        raise _unsuited(choice, "the model is dense, and vLLM has external load balancing for mixtures of experts only")
    return balancing


def _is_one_process_per_rank(values: Mapping[str, Any]) -> bool:
    return any(values.get(dest, False) is not False for dest in EXTERNAL)  # rank 0 is one too


def _unsuited(choice: Choice, observed: str, without: str = "--load-balancing external") -> BadInput:
    return BadInput(
        f"{choice.strategy} has no such load balancing",
        id="strategy-unsupported",
        observed=observed,
        required="data-parallel ranks of a mixture of experts for external load balancing, several ranks for any",
        next_command=f"the same command without {without}; or a deployment of its own on each host",
    )


def number(values: Mapping[str, Any], dest: str) -> int:
    found = values.get(dest)
    return found if isinstance(found, int) else 1


def _refuse_undivided(choice: Choice, tensor: int) -> None:
    """As `ModelConfig.verify_with_parallel_config` of vLLM does; not asked where no source tells the heads."""
    known = architecture_of(choice.found.recipe)
    heads = known.architecture.heads if known else None
    if heads and heads % tensor:
        raise BadInput(
            f"{choice.strategy} is not launched on these hosts",
            id="strategy-unsupported",
            observed=f"TP {tensor} does not divide the {heads} attention heads of the model",
            required="a tensor parallel size that divides them",
            next_command="the same command with another --strategy, or another number of --hosts",
        )


def _refuse(choice: Choice, values: Mapping[str, Any], spanned: int, hosts: int, world: int) -> None:
    """What of vLLM's multi-node modes is not launched, and why."""
    if "ray" in {values.get("data_parallel_backend"), values.get("distributed_executor_backend")}:
        shown = f"--model {choice.slug} --variant {choice.variant} --strategy {choice.strategy}"
        raise BadInput(
            f"{choice.strategy} is not launched on these hosts",
            id="strategy-unsupported",
            observed="Ray starts ranks through a cluster of its own on the hosts; nothing here starts or stops that",
            required="ranks that every host starts itself: no ray in --data-parallel-backend and --distributed-...",
            next_command=f"the same command with mp in its place; or by hand, as shown by invoke recipes.show {shown} "
            f"--hardware {choice.hardware} --nodes {hosts} --ray",
        )
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
        spanned > 1 and ranks > 1,
        f"--nnodes {spanned} with {ranks} data-parallel ranks: vLLM would infer ranks and balancing from it",
    )
    yield spanned not in {1, hosts}, f"one rank over {spanned} hosts, and there are {hosts}"
    yield world % spanned != 0, f"a rank of {world} GPUs cannot be divided over {spanned} hosts"
    per_rank = _is_one_process_per_rank(values)
    yield per_rank and ranks % hosts != 0, f"{ranks} ranks, a process each, cannot be divided over {hosts} hosts"
    one_host = spanned == 1 and not values.get("data_parallel_size_local") and not per_rank
    yield hosts > 1 and one_host, f"one host's layout for {hosts} hosts"
