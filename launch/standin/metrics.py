"""`/metrics` with vLLM's names. The counts are real counts of simulated requests; nothing else is measured."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator

from launch.standin.host import Host
from launch.standin.loading import kv_blocks

FIELDS = ("running", "requests", "prompt_tokens", "generation_tokens")
# metric, kind, the field that it shows; "" is a constant zero
METRICS = (
    ("vllm:num_requests_running", "gauge", "running"),
    ("vllm:num_requests_waiting", "gauge", ""),
    ("vllm:kv_cache_usage_perc", "gauge", ""),
    ("vllm:num_preemptions_total", "counter", ""),
    ("vllm:prefix_cache_queries_total", "counter", ""),
    ("vllm:prefix_cache_hits_total", "counter", ""),
    ("vllm:prompt_tokens_total", "counter", "prompt_tokens"),
    ("vllm:generation_tokens_total", "counter", "generation_tokens"),
)


class Counters:
    """Counts in memory that all API servers of a host share: each writes its own cells, any of them shows the sums."""

    def __init__(self, servers: int, ranks: range) -> None:
        self.servers, self.ranks = servers, ranks
        self.cells = mmap.mmap(-1, max(1, servers * len(ranks) * len(FIELDS)) * 8)

    def _offset(self, server: int, rank: int, field: str) -> int:
        row = server * len(self.ranks) + self.ranks.index(rank)
        return (row * len(FIELDS) + FIELDS.index(field)) * 8

    def add(self, server: int, rank: int, field: str, count: int) -> None:
        at = self._offset(server, rank, field)
        struct.pack_into("q", self.cells, at, struct.unpack_from("q", self.cells, at)[0] + count)

    def total(self, rank: int, field: str) -> int:
        places = (self._offset(server, rank, field) for server in range(self.servers))
        return sum(struct.unpack_from("q", self.cells, at)[0] for at in places)


def text(host: Host, counters: Counters) -> str:
    """The page in Prometheus' text format."""
    return "\n".join(_lines(host, counters)) + "\n"


def _lines(host: Host, counters: Counters) -> Iterator[str]:
    yield "# SIMULATED stand-in engine, not vLLM"
    model = escaped(host.model.names[0])
    for name, kind, field in METRICS:
        yield f"# TYPE {name.removesuffix('_total') if kind == 'counter' else name} {kind}"
        for rank in counters.ranks:
            value = counters.total(rank, field) if field else 0
            yield f'{name}{{engine="{rank}",model_name="{model}"}} {float(value)}'
    yield "# TYPE vllm:request_success counter"
    for rank in counters.ranks:
        done = float(counters.total(rank, "requests"))
        yield f'vllm:request_success_total{{engine="{rank}",finished_reason="stop",model_name="{model}"}} {done}'
    yield "# TYPE vllm:cache_config_info gauge"
    for rank in counters.ranks:
        yield f"vllm:cache_config_info{{{cache_labels(host, rank)}}} 1.0"


def cache_labels(host: Host, rank: int) -> str:
    labels = {
        "block_size": "16",
        "cache_dtype": host.options.text("kv_cache_dtype", "auto"),
        "engine": str(rank),
        "gpu_memory_utilization": host.options.text("gpu_memory_utilization", "0.92"),
        "kv_cache_max_concurrency": str(host.model.concurrency),
        "kv_cache_size_tokens": str(host.model.kv_tokens),
        "num_gpu_blocks": str(kv_blocks(host)),
    }
    return ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items())


def escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
