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

    from launch.choice import Choice
    from launch.memory.plan import MemoryPlan
    from launch.resolve.gates import Place

GB = 10**9
GANG, ONE = "the gang", "a GPU"
MINIMUM = "recipe: vram_minimum_gb, the files times 1.2"
THOUSAND = 1000


def memory_of(choice: Choice, argv: Sequence[str], *, gpus: int, data: int, gpu_bytes: int | None) -> Memory:
    """The memory of `argv`, the head's command, on `gpus` GPUs in all with `data` ranks; `gpu_bytes` of the smallest.

    GPUs of a host that the layout leaves unused hold nothing.
    """
    place = choice.place
    gpu = Gpu(gpu_bytes, place.profile.kind)
    found = forecast(choice.found.recipe, choice.variant, argv, choice.vllm, gpu)
    plan = found.plan if found else None
    needed, there = place.variant.vram_minimum_gb, vram_gb(place, gpus)
    if needed and there and needed > there:
        return _memory(plan, data, fits=False, of=GANG, needed=int(needed * GB), there=int(there * GB))
    if found is not None and found.plan.fits is False:
        return _too_small(found.plan, data, fits=found.fits)
    loads = bool(needed and there)
    fits = True if loads or (plan is not None and plan.fits) else None
    return _memory(
        plan,
        data,
        fits=fits,
        of=GANG,
        needed=int(needed * GB) if needed else None,
        there=int(there * GB) if there else None,
    )


def vram_gb(place: Place, gpus: int) -> float | None:
    """What vendors state for `gpus` GPUs of this hardware together."""
    node = place.profile.vram_gb
    return node * gpus / place.profile.gpus if node and place.profile.gpus else None


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
        source=MINIMUM if of == GANG and not fits else "; ".join((MINIMUM, *(plan.notes if plan else ()))),
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
