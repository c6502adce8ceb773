"""A forecast as text: a bar for a GPU, the two numbers of the log, what is unknown, what would change most. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from launch.console.sizes import size
from launch.memory.architecture import shown
from launch.memory.sensitivity import changes

if TYPE_CHECKING:
    from launch.memory.of_recipe import Forecast
    from launch.memory.plan import MemoryPlan
    from launch.memory.sensitivity import Change

GB = 1e9
WIDTH = 60
MOST = 8
PARTS = (
    ("weights", "weights_bytes", "#"),
    ("activations", "activation_bytes", "+"),
    ("CUDA graphs", "graph_bytes", "%"),
    ("cache of tokens", "cache_bytes", "="),
    ("states", "state_bytes", "-"),
    ("free", "free_bytes", "."),
)


def parts_of(plan: MemoryPlan) -> dict[str, int | None]:
    """The parts of one GPU in bytes, by name, in the order in which they are stacked. None: unknown."""
    state = plan.state_bytes or 0
    cache = None if plan.kv_bytes is None else plan.kv_bytes - state
    values: dict[str, int | None] = {
        "weights_bytes": plan.weights_bytes,
        "activation_bytes": plan.activation_bytes,
        "graph_bytes": plan.graph_bytes,
        "cache_bytes": cache,
        "state_bytes": plan.state_bytes,
        "free_bytes": plan.free_bytes,
    }
    return {name: values[key] for name, key, _ in PARTS}


def lines(now: Forecast) -> Iterator[str]:
    """Everything for a person."""
    plan, parallel = now.plan, now.parallel
    cut = f"TP {parallel.tensor}, DP {parallel.data}, PP {parallel.pipeline}, DCP {parallel.context}"
    experts = f", EP {parallel.expert_size}" if parallel.expert else ""
    yield f"{now.known.architecture.model}: {parallel.gpus} x GPU, {cut}{experts}; KV cache {plan.kv_dtype}"
    yield from _bars(plan, now.gpu.source)
    yield ""
    yield verdict(now)
    yield from numbers(plan, parallel.data)
    yield from _lists(now)


def verdict(now: Forecast) -> str:
    """Whether one request can be served, by which numbers."""
    plan = now.plan
    if now.lacking:
        needed, there = now.lacking
        return f"it does not fit: vram_minimum_gb of the recipe needs {gb(needed)} of {gb(there)}, all GPUs together"
    if plan.fits is None:
        return "whether it fits is not known"
    if plan.fits:
        return "it fits as far as is known" if plan.is_bound else "it fits"
    word = "it may not fit" if now.fits is None else "it does not fit"
    doubt = " (figures are derived, and refuse nothing that a recipe says to load)" if now.fits is None else ""
    if plan.loads is False:
        needed, there = (plan.weights_bytes or 0) + (plan.activation_bytes or 0), plan.budget_bytes or 0
        return f"{word}: weights and activations need {gb(needed)} of {gb(there)}{doubt}"
    needed, there = plan.request_bytes or 0, plan.kv_bytes or 0
    return f"{word}: the cache of one request of {plan.context:,} tokens needs {gb(needed)} of {gb(there)}{doubt}"


def numbers(plan: MemoryPlan, engines: int) -> Iterator[str]:
    """The two numbers of the log for one engine, and what a token and a request cost."""
    if plan.tokens is None or plan.concurrency is None:
        yield "GPU KV cache size: unknown"
    else:
        bound = "at most " if plan.is_bound else ""
        of_each = " (each of the engines)" if engines > 1 else ""
        yield (
            f"GPU KV cache size: {bound}{plan.tokens:,} tokens, Maximum concurrency for {plan.context:,} tokens per "
            f"request: {bound}{plan.concurrency:.2f}x{of_each}"
        )
    if plan.token_bytes is not None and plan.request_bytes is not None:
        yield f"on each GPU {plan.token_bytes:,} B a token more, {size(plan.request_bytes)} a request of that length"
    if plan.groups > 1 and plan.sequences is not None:
        yield f"{plan.blocks:,} blocks for {plan.groups} groups of layers: at most {plan.sequences:,} sequences at once"


def _bars(plan: MemoryPlan, source: str) -> Iterator[str]:
    parts = parts_of(plan)
    if plan.gpu_bytes is None:
        yield f"the GPU's memory is not known{': ' if source else ''}{source}"
    else:
        yield f"each GPU has {size(plan.gpu_bytes)} ({source})" if source else f"each GPU has {size(plan.gpu_bytes)}"
        yield f"[{bar(plan.gpu_bytes, parts)}]"
    total = plan.gpu_bytes or 0
    for name, _, sign in PARTS:
        amount = parts[name]
        share = f"{100 * amount / total:5.1f} %" if amount is not None and total else "       "
        yield f"  {sign} {name:<16} {'unknown' if amount is None else size(amount):>10} {share}"


def gb(number: int) -> str:
    return f"{number / GB:,.1f} GB"


def bar(total: int, parts: dict[str, int | None]) -> str:
    """The parts that are known, drawn in proportion; what goes over the edge is cut and marked."""
    drawn, filled = "", 0
    for name, _, sign in PARTS:
        filled += parts[name] or 0
        drawn += sign * (round(filled * WIDTH / total) - len(drawn))
    return drawn if len(drawn) <= WIDTH else f"{drawn[: WIDTH - 1]}!"


def _lists(now: Forecast) -> Iterator[str]:
    plan = now.plan
    yield from _list("what changes it most, all ranks together", map(change_line, changes(now)[:MOST]))
    yield from _list("unknown", plan.unknown)
    yield from _list("estimated or derived", (*plan.notes, *shown(now.known)))


def _list(title: str, entries: Iterable[str]) -> Iterator[str]:
    listed: Sequence[str] = list(entries)
    if listed:
        yield ""
        yield f"{title}:"
        yield from (f"  {one}" for one in listed)


def change_line(one: Change) -> str:
    return f"{one.what:<44} {one.tokens:>13,} tokens ({one.ratio:.2f} x), {one.concurrency:.2f} requests at once"


def document(now: Forecast) -> dict[str, Any]:
    """Everything for a program: the plan, its inputs, the parts of a GPU, the changes."""
    plan = asdict(now.plan)
    return {
        "model": now.known.architecture.model,
        "fits": now.fits,
        "plan": {**plan, "loads": now.plan.loads, "fits": now.plan.fits},
        "parts": parts_of(now.plan),
        "gpu": asdict(now.gpu),
        "parallel": {**asdict(now.parallel), "expert_size": now.parallel.expert_size},
        "settings": asdict(now.settings),
        "weights": None if now.weights is None else asdict(now.weights),
        "changes": [{**asdict(one), "ratio": one.ratio} for one in changes(now)],
        "doubts": {place: doubt.model_dump() for place, doubt in now.known.doubts.items()},
    }
