"""The memory of one GPU, to the two numbers that vLLM will log: `GPU KV cache size` and `Maximum concurrency`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from launch.memory import overhead
from launch.memory.architecture import Delta, Records
from launch.memory.caches import Unknown, caches_of, kv_dtype
from launch.memory.pool import Kind, block_bytes, groups_of, pages_of_request
from launch.memory.settings import Parallel
from launch.memory.weights import per_gpu

if TYPE_CHECKING:
    from launch.memory.architecture import Architecture
    from launch.memory.pool import Group
    from launch.memory.settings import Settings
    from launch.memory.weights import Weights

SMOOTH_BLOCK = 1 << 14
"""A block in which every record of several tokens is a whole number."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes of one GPU, the fullest of the gang. None: unknown; `unknown` says what and why.

    `budget_bytes`: what vLLM lets itself use. `kv_bytes`: of the pool, `state_bytes` of it pages of linear-attention
    states when the pool is full of requests of `context` tokens. `token_bytes`: what one token adds to the pool on
    this GPU, `request_bytes` what a request of `context` tokens takes. `tokens` and `concurrency` are of one engine
    (a data-parallel rank), as in the log; `is_bound`: at most so many, because something above is unknown or a lower
    bound. `sequences`: how many requests have a block for each of the `groups`.
    """

    gpu_bytes: int | None
    budget_bytes: int | None
    weights_bytes: int | None
    activation_bytes: int | None
    graph_bytes: int | None
    kv_bytes: int | None
    state_bytes: int | None
    token_bytes: int | None
    request_bytes: int | None
    block_bytes: int | None
    blocks: int | None
    groups: int
    context: int | None
    tokens: int | None
    concurrency: float | None
    sequences: int | None
    is_bound: bool
    kv_dtype: str
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def free_bytes(self) -> int | None:
        """What is left of the GPU outside vLLM's budget."""
        if self.gpu_bytes is None or self.budget_bytes is None:
            return None
        return self.gpu_bytes - self.budget_bytes

    @property
    def loads(self) -> bool | None:
        """Whether the weights leave anything of the budget; None: unknown."""
        if self.weights_bytes is None or self.budget_bytes is None:
            return None
        return self.weights_bytes + (self.activation_bytes or 0) < self.budget_bytes

    @property
    def fits(self) -> bool | None:
        """Whether one request of `context` tokens can be served, without which vLLM does not start; None: unknown.

        Where `is_bound`, what is unknown only takes more: False stands, True may not.
        """
        if self.loads is False:
            return False
        return None if self.concurrency is None else self.concurrency >= 1


def predict(
    architecture: Architecture,
    weights: Weights | None,
    parallel: Parallel,
    settings: Settings,
    gpu_bytes: int | None,
    *,
    context: int | None = None,
    generation: str = "",
) -> MemoryPlan:
    """Predict one GPU of `gpu_bytes` (the driver's total; None: unknown, or a CPU).

    `context`: of one request, by default --max-model-len or the model's own. `generation`: of the hardware, `hopper`.
    """
    length = context or settings.max_model_len or architecture.context
    plan = MemoryPlan(
        gpu_bytes=gpu_bytes,
        budget_bytes=None if gpu_bytes is None else ceil(gpu_bytes * settings.utilisation),
        weights_bytes=None if weights is None else per_gpu(weights, parallel),
        activation_bytes=overhead.activations(architecture, parallel, settings, gpu_bytes),
        graph_bytes=overhead.graphs(settings),
        kv_bytes=None,
        state_bytes=None,
        token_bytes=None,
        request_bytes=None,
        block_bytes=None,
        blocks=None,
        groups=0,
        context=length,
        tokens=None,
        concurrency=None,
        sequences=None,
        is_bound=False,
        kv_dtype=kv_dtype(architecture, settings, generation),
        notes=() if weights is None else (f"weights: {weights.source}",),
    )
    return _with_pool(_with_budget(plan, settings), architecture, parallel, settings, generation)


def bytes_per_token(architecture: Architecture, settings: Settings, generation: str = "", *, tensor: int = 1) -> float:
    """Bytes that one more token adds to the whole model's cache on one GPU: the figure that texts give.

    Without the padding of pages, and without windows and states, which do not grow. Raises `Unknown`.
    """
    parts = [one for one in architecture.caches if not isinstance(one, Delta)]
    bare = [one.model_copy(update={"page_multiple": 1}) if isinstance(one, Records) else one for one in parts]
    growing = architecture.model_copy(update={"caches": tuple(bare)})
    caches = caches_of(growing, Parallel(tensor=tensor), replace(settings, block=SMOOTH_BLOCK), generation)
    return sum(one.layers * one.page / one.block for one in caches if one.kind is Kind.FULL)


def _with_budget(plan: MemoryPlan, settings: Settings) -> MemoryPlan:
    """What is left for the pool. A size that the command gives is taken as it is."""
    if settings.kv_cache_bytes:
        return replace(plan, kv_bytes=settings.kv_cache_bytes)
    missing = []
    if plan.budget_bytes is None:
        missing.append("memory of the GPU")
    if plan.weights_bytes is None:
        missing.append("weights of a GPU: size of the checkpoint, or with data parallelism of its experts")
    if plan.budget_bytes is None or plan.weights_bytes is None:
        return replace(plan, unknown=(*plan.unknown, *missing))
    left = plan.budget_bytes - plan.weights_bytes - (plan.activation_bytes or 0) - (plan.graph_bytes or 0)
    open_ = [overhead.RUNTIME]
    if plan.activation_bytes is None:
        open_.append("activations: hidden size and vocabulary of the model")
    if plan.graph_bytes is None:
        open_.append(overhead.GRAPHS)
    notes = plan.notes if plan.activation_bytes is None else (*plan.notes, overhead.ACTIVATIONS)
    return replace(plan, kv_bytes=max(left, 0), is_bound=True, unknown=(*plan.unknown, *open_), notes=notes)


def _with_pool(
    plan: MemoryPlan, architecture: Architecture, parallel: Parallel, settings: Settings, generation: str
) -> MemoryPlan:
    try:
        groups = groups_of(caches_of(architecture, parallel, settings, generation), packed=architecture.packed)
    except (Unknown, ValueError) as error:
        return replace(plan, unknown=(*plan.unknown, f"cache of the model: {error}"))
    missing = tuple(f"cache of the model: {one}" for one in architecture.missing if one != "experts")
    block = block_bytes(groups)
    in_flight = settings.in_flight(parallel, plan.gpu_bytes)
    length = plan.context
    if length is None:
        return replace(plan, block_bytes=block, unknown=(*plan.unknown, *missing, "context length of the model"))

    def pages(length: int) -> int:
        return pages_of_request(groups, length, in_flight=in_flight, dcp=parallel.context)

    needed = pages(length)
    plan = replace(
        plan,
        token_bytes=ceil(_slope(groups, block, parallel.context)),
        request_bytes=needed * block,
        block_bytes=block,
        groups=len(groups),
        is_bound=plan.is_bound or bool(missing),
        unknown=(*plan.unknown, *missing),
    )
    if plan.kv_bytes is None:
        return plan
    blocks = plan.kv_bytes // block
    states = sum(group.members[0].copies for group in groups if group.members[0].kind is Kind.STATE)
    smallest = pages(1)
    return replace(
        plan,
        blocks=blocks,
        state_bytes=plan.kv_bytes * states // needed,
        concurrency=blocks / needed,
        tokens=int(blocks / needed * length),
        sequences=blocks // smallest,
    )


def _slope(groups: Sequence[Group], block: int, dcp: int) -> float:
    """Bytes of the pool that one more token takes: each group with pages of all tokens takes blocks of its own."""
    full = [one.members[0] for one in groups if one.members[0].kind is Kind.FULL]
    return sum((block / one.block / (dcp if one.sharded else 1) for one in full), 0.0)
