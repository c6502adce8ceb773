"""What changes the cache most: the same prediction with one thing changed, each computed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from launch.memory.architecture import Delta, Records
from launch.memory.plan import predict

if TYPE_CHECKING:
    from launch.memory.of_recipe import Forecast
    from launch.memory.settings import Parallel, Settings

LEAST = 0.005
"""A change of less than half a percent is none."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing changed. `tokens` of the whole gang, all its ranks together; `gpus` that it then takes."""

    what: str
    gpus: int
    tokens: int
    before: int
    concurrency: float

    @property
    def ratio(self) -> float:
        return self.tokens / self.before if self.before else 0.0


def changes(now: Forecast) -> tuple[Change, ...]:
    """The changes that make a difference, the greatest first; none where the number of tokens is not known."""
    if not now.plan.tokens or now.plan.concurrency is None:
        return ()
    before = now.plan.tokens * now.parallel.data
    found = []
    for what, parallel, settings, context in _variations(now):
        plan = predict(
            now.known.architecture,
            now.weights,
            parallel,
            settings,
            now.gpu.bytes,
            context=context,
            generation=now.gpu.generation,
        )
        if plan.tokens is not None and plan.concurrency is not None:
            every = parallel.data
            found.append(Change(what, parallel.gpus, plan.tokens * every, before, plan.concurrency * every))
    differing = [one for one in found if _differs(one, now)]
    return tuple(sorted(differing, key=lambda one: -abs(one.concurrency / _concurrency(now) - 1)))


def _concurrency(now: Forecast) -> float:
    return max((now.plan.concurrency or 0.0) * now.parallel.data, 1e-9)


def _differs(one: Change, now: Forecast) -> bool:
    return abs(one.ratio - 1) > LEAST or abs(one.concurrency / _concurrency(now) - 1) > LEAST


def _variations(now: Forecast) -> Iterator[tuple[str, Parallel, Settings, int | None]]:
    plan, parallel, settings = now.plan, now.parallel, now.settings
    for dtype in ("auto", "fp8", "nvfp4_ds_mla"):
        if dtype != settings.kv_dtype and (dtype != "nvfp4_ds_mla" or _has_nvfp4(now)):
            yield f"--kv-cache-dtype {dtype}", parallel, replace(settings, kv_dtype=dtype), plan.context
    yield from ((what, cut, settings, plan.context) for what, cut in _layouts(now))
    if plan.context:
        for length in (plan.context // 2, plan.context * 2):
            if length <= (now.known.architecture.context or length):
                yield f"--max-model-len {length}", parallel, replace(settings, max_model_len=length), length
    yield from ((what, parallel, one, plan.context) for what, one in _settings(now))


def _has_nvfp4(now: Forecast) -> bool:
    parts = now.known.architecture.caches
    return any(isinstance(one, Records) and "nvfp4_ds_mla" in one.bytes_by_dtype for one in parts)


def _layouts(now: Forecast) -> Iterator[tuple[str, Parallel]]:
    """Twice and half the tensor parallelism on as many GPUs or on others, and the cache cut over the group."""
    parallel, heads = now.parallel, now.known.architecture.heads
    doubled = parallel.tensor * 2
    if heads is None or heads % doubled == 0:
        if parallel.data % 2 == 0:
            swapped = replace(parallel, tensor=doubled, data=parallel.data // 2)
            yield f"TP {doubled} x DP {swapped.data} on the same GPUs", swapped
        else:
            yield f"TP {doubled}: {parallel.gpus * 2} GPUs", replace(parallel, tensor=doubled)
    if parallel.tensor % 2 == 0 and parallel.context == 1:
        half = replace(parallel, tensor=parallel.tensor // 2, data=parallel.data * 2)
        yield f"TP {half.tensor} x DP {half.data} on the same GPUs", half
    if _is_latent(now) and parallel.tensor > 1 and parallel.context == 1:
        yield f"--decode-context-parallel-size {parallel.tensor}", replace(parallel, context=parallel.tensor)


def _is_latent(now: Forecast) -> bool:
    """Whether all of its cache for tokens is copied over a tensor-parallel group, and can be cut over it instead."""
    parts = [one for one in now.known.architecture.caches if not isinstance(one, Delta)]
    return bool(parts) and all(isinstance(one, Records) and one.sharded and not one.window for one in parts)


def _settings(now: Forecast) -> Iterator[tuple[str, Settings]]:
    settings, parts = now.settings, now.known.architecture.caches
    tokens = settings.batched_tokens(now.gpu.bytes)
    if tokens > 2048:
        yield f"--max-num-batched-tokens {tokens // 2}", replace(settings, max_num_batched_tokens=tokens // 2)
    if settings.speculative_tokens:
        yield "without drafted tokens", replace(settings, speculative_tokens=0)
    if any(isinstance(one, Delta) for one in parts) and settings.state_dtype != "bfloat16":
        yield "--mamba-ssm-cache-dtype bfloat16", replace(settings, state_dtype="bfloat16")
    if settings.kv_cache_bytes is None:
        more = round(min(settings.utilisation + 0.03, 0.97), 2)
        yield f"--gpu-memory-utilization {more}", replace(settings, utilisation=more)
