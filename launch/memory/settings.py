"""What a `vllm serve` command sets that decides memory, with vLLM's own defaults where it sets nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.vllm_args.parse import parse

GIB = 1 << 30
UTILISATION = 0.92
"""Default of --gpu-memory-utilization since vLLM 0.19 (config/cache.py of 0.32.0 and 0.33.0)."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """How a model lies over GPUs (vLLM's words).

    Routed experts are divided over TP x DP with `--enable-expert-parallel` and without: `expert` decides whether a GPU
    has whole experts or a slice of each.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    context: int = 1  # decode context parallelism: over GPUs of the tensor-parallel group
    expert: bool = False

    @property
    def expert_size(self) -> int:
        """EP = TP x DP: it is computed, not set."""
        return self.tensor * self.data

    @property
    def gpus(self) -> int:
        return self.tensor * self.pipeline * self.data


@dataclass(frozen=True, slots=True)
class Settings:
    """None: vLLM decides, by the model or the hardware."""

    kv_dtype: str = "auto"
    index_dtype: str | None = None
    state_dtype: str | None = None
    model_dtype: str | None = None
    block: int | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    utilisation: float = UTILISATION
    kv_cache_bytes: int | None = None
    eager: bool = False
    prefix_caching: bool = True
    async_scheduling: bool = True
    speculative_tokens: int = 0
    hybrid: bool = True  # windows and states have blocks of their own

    def in_flight(self, parallel: Parallel, gpu_bytes: int | None) -> int:
        """Tokens that may be scheduled and not yet settled: one batch for each concurrent step."""
        batches = parallel.pipeline + 1 if self.async_scheduling else parallel.pipeline
        return batches * self.batched_tokens(gpu_bytes)

    def batched_tokens(self, gpu_bytes: int | None) -> int:
        """VLLM's default for an API server goes by the GPU's memory (engine/arg_utils.py of 0.33.0)."""
        if self.max_num_batched_tokens:
            return self.max_num_batched_tokens
        if gpu_bytes is None:
            return 2048
        return 16384 if gpu_bytes >= 160 * GIB else 8192 if gpu_bytes >= 70 * GIB else 2048

    def sequences(self, gpu_bytes: int | None) -> int:
        if self.max_num_seqs:
            return self.max_num_seqs
        return 128 if gpu_bytes is None else 1024 if gpu_bytes >= 70 * GIB else 256


def of_argv(argv: Sequence[str], version: str) -> tuple[Settings, Parallel]:
    """Read a command by the pinned vLLM's own option schema. `argv`: with or without `vllm serve`."""
    values = parse(argv, version).values
    return settings_of(values), parallel_of(values)


def parallel_of(values: Mapping[str, Any]) -> Parallel:
    return Parallel(
        tensor=_count(values, "tensor_parallel_size"),
        pipeline=_count(values, "pipeline_parallel_size"),
        data=_count(values, "data_parallel_size"),
        context=_count(values, "decode_context_parallel_size"),
        expert=bool(values.get("enable_expert_parallel")),
    )


def settings_of(values: Mapping[str, Any]) -> Settings:
    attention = values.get("attention_config")
    length = values.get("max_model_len")
    share = values.get("gpu_memory_utilization")
    return Settings(
        kv_dtype=str(values.get("kv_cache_dtype") or "auto"),
        index_dtype=attention.get("indexer_kv_dtype") if isinstance(attention, Mapping) else None,
        state_dtype=_named(values.get("mamba_ssm_cache_dtype")),
        model_dtype=_named(values.get("dtype")),
        block=_optional(values, "block_size"),
        max_model_len=length if isinstance(length, int) and length > 0 else None,
        max_num_seqs=_optional(values, "max_num_seqs"),
        max_num_batched_tokens=_optional(values, "max_num_batched_tokens"),
        utilisation=float(share) if isinstance(share, int | float) else UTILISATION,
        kv_cache_bytes=_optional(values, "kv_cache_memory_bytes"),
        eager=bool(values.get("enforce_eager")),
        prefix_caching=values.get("enable_prefix_caching") is not False,
        async_scheduling=values.get("async_scheduling") is not False,
        speculative_tokens=_speculative(values.get("speculative_config")),
        hybrid=not values.get("disable_hybrid_kv_cache_manager"),
    )


def _named(value: object) -> str | None:
    return value if isinstance(value, str) and value != "auto" else None


def _count(values: Mapping[str, Any], dest: str) -> int:
    return _optional(values, dest) or 1


def _optional(values: Mapping[str, Any], dest: str) -> int | None:
    found = values.get(dest)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


def _speculative(config: object) -> int:
    if not isinstance(config, Mapping):
        return 0
    found = config.get("num_speculative_tokens")
    return found if isinstance(found, int) and found > 0 else 0
