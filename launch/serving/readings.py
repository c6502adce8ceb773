"""What `/metrics` of vLLM says, engine by engine, and what two looks at it say of the time between. Pure.

The names are those of vLLM 0.33.0 (`vllm/v1/metrics/loggers.py`); counters are exported with `_total`. A metric that a
page lacks is None, never zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

ENGINE = "engine"
GAUGES = {
    "running": "vllm:num_requests_running",
    "waiting": "vllm:num_requests_waiting",
    "kv_cache_usage": "vllm:kv_cache_usage_perc",
}
COUNTERS = {
    "preemptions": "vllm:num_preemptions_total",
    "prefix_queries": "vllm:prefix_cache_queries_total",
    "prefix_hits": "vllm:prefix_cache_hits_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
    "requests": "vllm:request_success_total",
}
BY_SOURCE = "vllm:prompt_tokens_cached_by_source_total"
HISTOGRAMS = {"ttft": "vllm:time_to_first_token_seconds", "itl": "vllm:inter_token_latency_seconds"}

Buckets = Mapping[float, float]
"""Cumulative counts by upper bound in seconds, `inf` the last."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One engine at one moment: gauges as they are, counters since its start, cached prompt tokens by their source."""

    url: str
    engine: str
    gauges: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, float] = field(default_factory=dict)
    histograms: Mapping[str, Buckets] = field(default_factory=dict)


def read_page(page: str, url: str) -> tuple[Reading, ...]:
    """The readings of a page, by engine. Raises `ValueError` when it is not in Prometheus' text format."""
    from prometheus_client.parser import text_string_to_metric_families

    samples = [one for family in text_string_to_metric_families(page) for one in family.samples]
    ours = [one for one in samples if ENGINE in one.labels]
    engines = dict.fromkeys(one.labels[ENGINE] for one in ours)
    return tuple(
        _reading(url, engine, [one for one in ours if one.labels[ENGINE] == engine])
        for engine in sorted(engines, key=lambda name: (len(name), name))
    )


def _reading(url: str, engine: str, samples: Sequence[object]) -> Reading:
    summed: dict[str, float] = {}
    sources: dict[str, float] = {}
    histograms: dict[str, dict[float, float]] = {}
    by_bucket = {f"{name}_bucket": key for key, name in HISTOGRAMS.items()}
    for name, labels, value in ((one.name, one.labels, one.value) for one in samples):  # type: ignore[attr-defined]
        if name == BY_SOURCE:
            sources[labels["source"]] = sources.get(labels["source"], 0.0) + value
        elif name in by_bucket:
            buckets = histograms.setdefault(by_bucket[name], {})
            buckets[float(labels["le"])] = buckets.get(float(labels["le"]), 0.0) + value
        else:
            summed[name] = summed.get(name, 0.0) + value
    return Reading(
        url,
        engine,
        {key: summed[name] for key, name in GAUGES.items() if name in summed},
        {key: summed[name] for key, name in COUNTERS.items() if name in summed},
        sources,
        histograms,
    )


@dataclass(frozen=True, slots=True)
class Load:
    """One engine, or several together, over `seconds`. Rates per second; None: not told, or nothing to divide by.

    `kv_cache_usage` is the highest of several, in 0..1; the hit rate is that of the tokens in between.
    """

    name: str
    seconds: float
    running: float | None
    waiting: float | None
    kv_cache_usage: float | None
    preemptions: float | None
    prefix_hit_rate: float | None
    prompt_rate: float | None
    generation_rate: float | None
    ttft_p95_s: float | None
    itl_p95_s: float | None

    @property
    def is_stuck(self) -> bool:
        """Requests run and not one token came: a hang, or a long prefill; only a completion decides which."""
        return bool(self.running) and self.generation_rate == 0


def loads(before: Sequence[Reading], after: Sequence[Reading], seconds: float) -> tuple[Load, ...]:
    """The load of every engine that both looks saw, and of all together as the last."""
    known = {(one.url, one.engine): one for one in before}
    pairs = [(known[one.url, one.engine], one) for one in after if (one.url, one.engine) in known]
    if not pairs:
        return ()
    many = len({one.url for one in after}) > 1
    named = [(f"{one.url} engine {one.engine}" if many else f"engine {one.engine}", [(b, one)]) for b, one in pairs]
    total = [("all", pairs)] if len(pairs) != 1 else []
    return tuple(_load(name, chosen, seconds) for name, chosen in [*named, *total])


def _load(name: str, pairs: Sequence[tuple[Reading, Reading]], seconds: float) -> Load:
    gauges = {key: [after.gauges[key] for _, after in pairs if key in after.gauges] for key in GAUGES}
    grown = {key: _grown(pairs, key) for key in COUNTERS}
    hits, queries = grown["prefix_hits"], grown["prefix_queries"]
    return Load(
        name,
        seconds,
        running=_sum(gauges["running"]),
        waiting=_sum(gauges["waiting"]),
        kv_cache_usage=max(gauges["kv_cache_usage"], default=None),
        preemptions=grown["preemptions"],
        prefix_hit_rate=hits / queries if hits is not None and queries else None,
        prompt_rate=_rate(grown["prompt_tokens"], seconds),
        generation_rate=_rate(grown["generation_tokens"], seconds),
        ttft_p95_s=quantile(0.95, _between(pairs, "ttft")),
        itl_p95_s=quantile(0.95, _between(pairs, "itl")),
    )


def _sum(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) if found else None


def _rate(grown: float | None, seconds: float) -> float | None:
    return grown / seconds if grown is not None and seconds > 0 else None


def _grown(pairs: Sequence[tuple[Reading, Reading]], key: str) -> float | None:
    """How much a counter grew; one that is less than before began anew in between."""
    return _sum(
        after.counters[key] - (before.counters[key] if before.counters[key] <= after.counters[key] else 0.0)
        for before, after in pairs
        if key in before.counters and key in after.counters
    )


def _between(pairs: Sequence[tuple[Reading, Reading]], key: str) -> dict[float, float]:
    """The histogram of what came in between, over all pairs."""
    united: dict[float, float] = {}
    for before, after in pairs:
        earlier, later = before.histograms.get(key, {}), after.histograms.get(key, {})
        is_anew = any(later.get(bound, 0.0) < count for bound, count in earlier.items())
        for bound, count in later.items():
            united[bound] = united.get(bound, 0.0) + count - (0.0 if is_anew else earlier.get(bound, 0.0))
    return united


def quantile(share: float, buckets: Buckets) -> float | None:
    """The value below which `share` of the observations lie, straight within a bucket, as Prometheus has it.

    None without observations; the highest finite bound where it lies beyond that.
    """
    bounds = sorted(buckets)
    if not bounds or bounds[-1] != math.inf or not buckets[math.inf]:
        return None
    wanted = share * buckets[math.inf]
    low, below = 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= wanted:
            if bound == math.inf:
                return low
            inside = buckets[bound] - below
            return low + (bound - low) * ((wanted - below) / inside if inside else 1.0)
        low, below = bound, buckets[bound]
    return low
