"""What a benchmark sends, and the words that say it to `vllm bench serve`. Pure.

Option names are those of vLLM 0.33.0 (`vllm/benchmarks/serve.py`, `benchmarks/datasets/datasets.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.serving.stored_command import StoredCommand

RANDOM, SPEED_BENCH = "random", "speed-bench"
SUBSETS = ("qualitative", *(f"throughput_{size}" for size in ("1k", "2k", "8k", "16k", "32k")))
PERCENTILES = "50,95,99"
_FOLLOWS = ("--tokenizer", "--tokenizer-mode")
"""Options of the server that decide how text becomes tokens: the client must do the same."""


@dataclass(frozen=True, slots=True)
class Workload:
    """`rate`: requests a second, None: as fast as `concurrency` allows, None there: all at once.

    `data`: a folder on the head with the files of SPEED-Bench, whose `subset` is taken; None: random tokens, with
    which speculative decoding accepts less than with text, so that it is measured too low. `guidellm`: that program on
    the head does it; None: vLLM's own.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    concurrency: int | None = None
    rate: float | None = None
    data: str | None = None
    subset: str = SUBSETS[0]
    guidellm: str | None = None

    @property
    def dataset(self) -> str:
        return SPEED_BENCH if self.data else RANDOM


def bench_words(work: Workload, stored: StoredCommand, *, url: str, served_name: str, folder: str) -> list[str]:
    """The words behind the program of vLLM. `folder`: where `result.json` is written."""
    words = ["bench", "serve", "--base-url", url, "--model", stored.model, "--served-model-name", served_name]
    for flag in _FOLLOWS:
        if value := stored.value_of(flag):
            words += [flag, value]
    if "--trust-remote-code" in stored.options:
        words.append("--trust-remote-code")
    words += ["--num-prompts", str(work.requests), *_dataset(work)]
    if work.concurrency:
        words += ["--max-concurrency", str(work.concurrency)]
    if work.rate:
        words += ["--request-rate", f"{work.rate:g}"]
    words += ["--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", PERCENTILES]
    return [*words, "--save-result", "--result-dir", folder, "--result-filename", "result.json"]


def _dataset(work: Workload) -> list[str]:
    if work.data:
        return [
            *("--dataset-name", "speed_bench", "--dataset-path", work.data),
            *("--speed-bench-dataset-subset", work.subset),
            *("--speed-bench-output-len", str(work.output_tokens)),
            *("--backend", "openai-chat", "--endpoint", "/v1/chat/completions"),
        ]
    # Random tokens end nowhere by themselves: each answer has as many as were asked for.
    return [
        *("--dataset-name", "random", "--random-input-len", str(work.input_tokens)),
        *("--random-output-len", str(work.output_tokens), "--ignore-eos"),
        *("--backend", "openai", "--endpoint", "/v1/completions"),
    ]
