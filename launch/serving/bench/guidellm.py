"""The same workload as a scenario of GuideLLM, and what its report says in vLLM's names. Pure.

Names are those of GuideLLM 0.8.1 (`guidellm run --config FILE`, report version 2), which was run to see them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from launch.serving.bench.workload import Workload

KEY_MARK = "@KEY@"
"""Stands where the host puts the key in: no other machine has a file with it."""
_LATENCIES = {
    "ttft": ("time_to_first_token_ms", 1.0),
    "itl": ("inter_token_latency_ms", 1.0),
    "tpot": ("time_per_output_token_ms", 1.0),
    "e2el": ("request_latency", 1000.0),  # seconds there
}


def scenario(work: Workload, *, url: str, served_name: str, tokenizer: str, result: str, asks_key: bool) -> str:
    """The scenario file, one line of JSON. `tokenizer`: the folder of the weights; `result`: the report's path."""
    backend: dict[str, Any] = {"kind": "openai_http", "target": url, "model": served_name}
    if asks_key:
        backend["api_key"] = KEY_MARK
    data = {"kind": "synthetic_text", "prompt_tokens": work.input_tokens, "output_tokens": work.output_tokens}
    spec = {
        "backend": backend,
        "profile": _profile(work),
        "data": [data],
        "constraints": [{"kind": "max_requests", "count": work.requests}],
        "tokenizer": {"kind": "hf_auto", "model": tokenizer},
        "outputs": [{"kind": "json", "path": result}],
    }
    return json.dumps({"spec": spec})


def _profile(work: Workload) -> dict[str, Any]:
    if work.rate:
        most = {"max_concurrency": work.concurrency} if work.concurrency else {}
        return {"kind": "constant", "rate": work.rate, **most}
    if work.concurrency:
        return {"kind": "concurrent", "streams": work.concurrency}
    return {"kind": "throughput"}


def in_names_of_vllm(report: Mapping[str, Any]) -> dict[str, float]:
    """What a report says of requests that were answered. Raises `ValueError` when it is none."""
    try:
        (run,) = report["benchmarks"]
        made, metrics = run["scheduler_metrics"]["requests_made"], run["metrics"]
        found: dict[str, float] = {
            "completed": made["successful"],
            "failed": made["errored"],
            "duration": run["duration"],
            "request_throughput": metrics["requests_per_second"]["successful"]["mean"],
            "output_throughput": metrics["output_tokens_per_second"]["successful"]["mean"],
            "total_token_throughput": metrics["tokens_per_second"]["successful"]["mean"],
        }
        for name, (key, to_ms) in _LATENCIES.items():
            told = metrics[key]["successful"]
            found[f"mean_{name}_ms"] = told["mean"] * to_ms
            found |= {f"{part}_{name}_ms": told["percentiles"][part] * to_ms for part in ("p50", "p95", "p99")}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not a report of GuideLLM as its version 2 has it: {error!r}") from None
    return found
