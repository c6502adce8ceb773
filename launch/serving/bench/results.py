"""Results of benchmarks: read from what the tool wrote, shown, and two of them compared. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launch.serving.bench.guidellm import in_names_of_vllm

if TYPE_CHECKING:
    from launch.console.tables import Table

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Metric:
    """`key` in vLLM's result file; `better`: +1 the more the better, -1 the less, 0 neither."""

    key: str
    name: str
    unit: str
    better: int


LATENCIES = (("ttft", "first token"), ("itl", "between tokens"), ("tpot", "per token"), ("e2el", "request"))
METRICS = (
    Metric("completed", "requests done", "", 1),
    Metric("failed", "requests failed", "", -1),
    Metric("duration", "duration", "s", 0),
    Metric("request_throughput", "requests", "/s", 1),
    Metric("output_throughput", "output tokens", "/s", 1),
    Metric("total_token_throughput", "tokens in and out", "/s", 1),
    *(
        Metric(f"{key}_{part}_ms", f"{name} {key}", "ms", -1)
        for part, name in LATENCIES
        for key in ("mean", "p50", "p95", "p99")
    ),
    Metric("spec_decode_acceptance_rate", "drafts accepted", "%", 1),
    Metric("spec_decode_acceptance_length", "tokens a step", "", 1),
)


@dataclass(frozen=True, slots=True)
class Result:
    """One run. `about`: who, when, of which generation, with which work. `values` by vLLM's keys."""

    id: str
    about: Mapping[str, Any]
    values: Mapping[str, float]


def read_result(name: str, about: str, result: str) -> Result:
    """Read the two files of a run. Raises `ValueError` when they are none."""
    told, said = json.loads(result), json.loads(about)
    if not isinstance(told, dict) or not isinstance(said, dict) or said.get("format_version") != FORMAT_VERSION:
        raise ValueError("not the files of a benchmark of this version")
    known = in_names_of_vllm(told) if said.get("guidellm") else told
    keys = {one.key for one in METRICS}
    values = {key: float(value) for key, value in known.items() if key in keys and isinstance(value, (int, float))}
    return Result(name, said, values)


def result_rows(result: Result) -> Table:
    rows = [(one.name, _told(result.values.get(one.key), one.unit)) for one in METRICS if one.key in result.values]
    return ("metric", "value"), rows


def compared_rows(first: Result, second: Result) -> Table:
    """Both values of every metric that either has, and by how much the second is better or worse."""
    rows = [
        (one.name, _told(before, one.unit), _told(after, one.unit), _change(before, after, one.better))
        for one in METRICS
        for before, after in [(first.values.get(one.key), second.values.get(one.key))]
        if before is not None or after is not None
    ]
    return ("metric", first.id, second.id, "change"), rows


def differences(first: Result, second: Result) -> Sequence[str]:
    """What else was different than what is compared: a comparison is worth no more than its conditions are equal."""
    keys = dict.fromkeys([*first.about, *second.about])
    return [
        f"{key}: {first.about.get(key)} and {second.about.get(key)}"
        for key in keys
        if key not in {"id", "began", "user", "control"} and first.about.get(key) != second.about.get(key)
    ]


def _told(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    number = f"{value:.0f}" if value == int(value) else f"{value:.2f}"
    return f"{number} {unit}".rstrip()


def _change(before: float | None, after: float | None, better: int) -> str:
    if before is None or after is None or not before:
        return "-"
    ratio = after / before - 1
    if not better or abs(ratio) < 0.0005:
        return f"{ratio:+.1%}"
    return f"{ratio:+.1%} {'better' if ratio * better > 0 else 'worse'}"
