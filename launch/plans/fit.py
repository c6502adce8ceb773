"""Whether a choice fits its GPUs, by which numbers, and how many tokens of cache are left. Pure.

Two rules. The recipe's `vram_minimum_gb` is what just loads the weights, against the memory of all GPUs as vendors
state it (the recipes' own rule). The forecast of `launch.memory` is what one GPU holds, against what its driver
reports. It fits when neither says that it does not. A forecast from figures that are themselves derived or assumed
does not refuse what a recipe says to load: it leaves the question open, and says by how much.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from launch.memory.gpus import Gpu
from launch.memory.of_recipe import forecast
from launch.plans.document import Memory, MemoryPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from launch.choosing.choice import Choice
    from launch.memory.of_recipe import Forecast
    from launch.memory.plan import MemoryPlan
    from launch.resolve.gates import Place

GB = 10**9
GANG, USED, ONE = "the gang", "the GPUs that are used", "a GPU"
MINIMUM = "recipe: vram_minimum_gb, the files times 1.2"
THOUSAND = 1000


def memory_of(
    choice: Choice, argv: Sequence[str], *, nodes: int, gpus: int, data: int, gpu_bytes: int | None
) -> Memory:
    """The memory of `argv`, the head's command, with `data` ranks on `gpus` GPUs of `nodes` hosts.

    `gpu_bytes`: of the smallest of these GPUs.
    """
    place = choice.place
    gpu = Gpu(gpu_bytes, place.profile.kind)
    found = forecast(choice.found.recipe, choice.variant, argv, choice.vllm, gpu)
    plan = found.plan if found else None
    if lacking := short_of_minimum(place, found, nodes=nodes, gpus=gpus):
        needed_bytes, there_bytes = lacking
        of = GANG if there_bytes == int((place.profile.vram_gb or 0) * nodes * GB) else USED
        return _memory(plan, data, fits=False, of=of, needed=needed_bytes, there=there_bytes)
    if found is not None and found.plan.fits is False:
        return _too_small(found.plan, data, fits=found.fits)
    needed, there = place.variant.vram_minimum_gb, place.profile.vram_gb
    loads = bool(needed and there)
    fits = True if loads or (plan is not None and plan.fits) else None
    return _memory(
        plan,
        data,
        fits=fits,
        of=GANG,
        needed=int(needed * GB) if needed else None,
        there=int(there * nodes * GB) if there else None,
    )


def short_of_minimum(place: Place, found: Forecast | None, *, nodes: int, gpus: int) -> tuple[int, int] | None:
    """What just loads the weights by the recipe, and the smaller memory that there is for it; None: it suffices.

    It is held against all GPUs of the nodes, and against those that are used: GPUs that a layout leaves unused hold
    nothing. A forecast from counted files and found figures that fits knows better: the recipe's figure is a fifth
    above the files, whatever they need.
    """
    needed, node = place.variant.vram_minimum_gb, place.profile.vram_gb
    if not needed or not node:
        return None
    if found is not None and not found.is_derived and found.plan.fits is True:
        return None
    for there in (node * nodes, node * gpus / max(1, place.profile.gpus)):
        if needed > there:
            return int(needed * GB), int(there * GB)
    return None


def longest(choice: Choice, argv: Sequence[str], *, gpu_bytes: int | None, most: int) -> int | None:
    """Tokens, in thousands, of the longest request below `most` that the cache holds; None: of none, or unknown."""
    gpu = Gpu(gpu_bytes, choice.place.profile.kind)

    def fits(thousands: int) -> bool:
        length = thousands * THOUSAND
        found = forecast(choice.found.recipe, choice.variant, argv, choice.vllm, gpu, context=length)
        return found is not None and found.plan.fits is True

    able = bisect_left(range(1, most // THOUSAND), 1, key=lambda thousands: int(not fits(thousands)))
    return able * THOUSAND or None


def _too_small(plan: MemoryPlan, data: int, *, fits: bool | None) -> Memory:
    weights, budget = plan.weights_bytes, plan.budget_bytes
    if weights is not None and budget is not None and weights > budget:
        return _memory(plan, data, fits=fits, of=f"{ONE}: weights", needed=weights, there=budget)
    of = f"{ONE}: cache of one request of {plan.context} tokens"
    return _memory(plan, data, fits=fits, of=of, needed=plan.request_bytes, there=plan.kv_bytes)


def _memory(
    plan: MemoryPlan | None, data: int, *, fits: bool | None, of: str, needed: int | None, there: int | None
) -> Memory:
    tokens = plan.tokens if plan else None
    return Memory(
        fits=fits,
        of=of,
        needed_bytes=needed,
        there_bytes=there,
        gpu_bytes=plan.gpu_bytes if plan else None,
        parts=tuple(_parts(plan)) if plan else (),
        kv_tokens=tokens,
        kv_tokens_gang=None if tokens is None else tokens * data,
        concurrency=None if plan is None or plan.concurrency is None else round(plan.concurrency, 2),
        is_bound=plan.is_bound if plan else False,
        context=plan.context if plan else None,
        unknown=plan.unknown if plan else ("architecture of the model",),
        source=MINIMUM if of in {GANG, USED} and not fits else "; ".join((MINIMUM, *(plan.notes if plan else ()))),
    )


def _parts(plan: MemoryPlan) -> Iterator[MemoryPart]:
    """The bar of one GPU; what nobody knows is no part of it and is named in `unknown`."""
    if plan.gpu_bytes is None or plan.kv_bytes is None:
        return
    state = min(plan.state_bytes or 0, plan.kv_bytes)
    known = {
        "weights": plan.weights_bytes or 0,
        "activations": plan.activation_bytes or 0,
        "graphs": plan.graph_bytes or 0,
        "kv": plan.kv_bytes - state,
        "state": state,
    }
    for name, size in known.items():
        if size:
            yield MemoryPart(name, size)
    rest = plan.gpu_bytes - sum(known.values())
    if rest > 0:
        yield MemoryPart("outside", rest)
