"""Fit decisions against the tables of the handbook: every series x precision x hardware that it names, with its place.

Where the arithmetic does not agree, the row says why; the list of these is part of the table, so that a row that
begins to agree is noticed too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from launch.catalogue.find import Catalogue
from launch.memory.gpus import GB, MIB, Gpu
from launch.memory.of_recipe import Forecast, forecast

BYTES = {  # of one GPU: what nvidia-smi prints; for the others the vendor's figure
    "h100": 81559 * MIB,
    "h200": 143771 * MIB,
    "h20": 96 * GB,
    "a100": 81920 * MIB,
    "b200": 183359 * MIB,
    "b300": 268 * GB,
    "gb200": 189471 * MIB,
    "gb300": 284208 * MIB,
    "mi350x": 288 * GB,
    "mi355x": 288 * GB,
}
KIND = {"h100": "hopper", "h200": "hopper", "h20": "hopper", "a100": "ampere", "mi350x": "amd", "mi355x": "amd"}


@dataclass(frozen=True)
class Row:
    """`gpus`: all of them; `words`: the layout and settings that the text gives. `differs`: why ours does not agree."""

    model: str
    variant: str
    hardware: str
    gpus: int
    words: str
    says: Literal["fits", "no"]
    source: str
    context: int = 32_768
    differs: str = ""

    def __str__(self) -> str:
        return f"{self.model}-{self.variant}-{self.gpus}x{self.hardware}-{self.words or 'TP1'}"


ROWS = (
    Row("gpt-oss-120b", "default", "a100", 1, "", "fits", "6.1: one card of 80 GB"),
    Row("gpt-oss-120b", "default", "h100", 1, "", "fits", "6.1: one card of 80 GB"),
    Row("gpt-oss-120b", "default", "h200", 1, "", "fits", "6.1"),
    Row("gpt-oss-120b", "default", "b200", 1, "", "fits", "6.1"),
    Row("gpt-oss-120b", "default", "h100", 4, "--tensor-parallel-size 4", "fits", "6.1: TP4", 131_072),
    Row("qwen3.5-397b", "bf16", "h200", 8, "--tensor-parallel-size 8", "fits", "6.2: H200 x 8"),
    Row("qwen3.5-397b", "bf16", "b300", 4, "--tensor-parallel-size 4", "fits", "6.2: B300 x 4"),
    Row("qwen3.5-397b", "bf16", "h100", 8, "--tensor-parallel-size 8", "no", "6.2: H100 80G takes TP16"),
    Row("qwen3.5-397b", "bf16", "h100", 16, "--tensor-parallel-size 16", "fits", "6.2: TP16, two nodes"),
    Row("qwen3.5-397b", "default", "h200", 4, "--tensor-parallel-size 4", "fits", "6.2: FP8, H200 x 4"),
    Row("qwen3.5-397b", "default", "b300", 2, "--tensor-parallel-size 2", "fits", "6.2: FP8, B300 x 2"),
    Row(
        "qwen3.5-397b",
        "default",
        "h200",
        8,
        "--data-parallel-size 8 --enable-expert-parallel",
        "fits",
        "6.2: DP8 + EP",
        262_144,
    ),
    Row("qwen3.5-397b", "default", "h200", 8, "--tensor-parallel-size 8", "fits", "6.2: TP8 with MTP", 262_144),
    Row("qwen3.5-397b", "nvfp4", "gb200", 4, "--tensor-parallel-size 4", "fits", "6.2: GB200 x 4"),
    Row("qwen3.5-397b", "mxfp4", "mi355x", 1, "--max-num-seqs 64", "fits", "6.2: one card of 288 GB"),
    Row("qwen3.5-397b", "mxfp4", "mi350x", 1, "--max-num-seqs 64", "fits", "6.2: one card of 288 GB"),
    Row(
        "deepseek-v4-pro",
        "default",
        "h200",
        8,
        "--data-parallel-size 8 --enable-expert-parallel --kv-cache-dtype fp8 --max-model-len 1048576",
        "no",
        "6.3: 1M do not fit an H200",
        1_048_576,
    ),
    Row(
        "deepseek-v4-pro",
        "default",
        "h200",
        8,
        "--data-parallel-size 8 --enable-expert-parallel --kv-cache-dtype fp8 --max-model-len 800000",
        "fits",
        "6.3: 800K do",
        800_000,
        differs="7.5 GB are left at most, 4.5 GB of it for 800K tokens; vLLM 0.33.0 also counts, for two steps of 8192 "
        "tokens, windows of the compressors' states: 9 GB more. With --max-num-batched-tokens 2048 it fits",
    ),
    Row(
        "deepseek-v4-pro",
        "default",
        "h200",
        8,
        "--data-parallel-size 8 --enable-expert-parallel --kv-cache-dtype fp8 --max-model-len 800000 "
        "--max-num-batched-tokens 2048",
        "fits",
        "6.3: 800K do",
        800_000,
    ),
    Row(
        "deepseek-v4-pro",
        "default",
        "h20",
        8,
        "--data-parallel-size 8 --enable-expert-parallel --max-model-len 200000 --max-num-seqs 16",
        "fits",
        "6.3: H20, 200K and 16 sequences",
        200_000,
        differs="eight H20 of 96 GB have 768 GB, the experts alone 822 GB: the text must mean the H20 of 141 GB",
    ),
    Row("deepseek-v4-pro", "default", "gb200", 4, "--tensor-parallel-size 4", "no", "6.3: not in one tray"),
    Row(
        "deepseek-v4-pro",
        "default",
        "gb200",
        4,
        "--data-parallel-size 4 --enable-expert-parallel",
        "no",
        "6.3: not in one tray",
    ),
    Row(
        "deepseek-v4-pro",
        "default",
        "gb200",
        8,
        "--data-parallel-size 8 --enable-expert-parallel --kv-cache-dtype fp8 --max-model-len 1048576",
        "fits",
        "6.3: two trays, 1M",
        1_048_576,
    ),
    Row(
        "deepseek-v4.1-flash",
        "default",
        "h200",
        8,
        "--tensor-parallel-size 8",
        "fits",
        "6.7: one node of 8 H200",
        1_048_576,
    ),
    Row(
        "kimi-k3",
        "default",
        "b300",
        8,
        "--tensor-parallel-size 8 --kv-cache-dtype fp8 --gpu-memory-utilization 0.88",
        "fits",
        "6.4: one node of B300, 1M",
        1_048_576,
    ),
    Row("kimi-k3", "default", "gb300", 8, "--tensor-parallel-size 8", "fits", "6.4: two trays of GB300"),
    Row("kimi-k3", "default", "b300", 4, "--tensor-parallel-size 4", "no", "6.4: several nodes' worth of weights"),
    Row(
        "kimi-k3",
        "default",
        "gb300",
        16,
        "--tensor-parallel-size 8 --pipeline-parallel-size 2 --decode-context-parallel-size 8 --kv-cache-dtype fp8",
        "fits",
        "6.4: four trays",
        1_048_576,
    ),
    Row("glm-5", "default", "h200", 8, "--tensor-parallel-size 8", "fits", "6.6: FP8, 8 H200", 202_752),
    Row("glm-5", "bf16", "h200", 8, "--tensor-parallel-size 8", "no", "1: 1786 GB to load, a node has 1128"),
    Row("glm-5", "bf16", "h200", 16, "--tensor-parallel-size 16", "fits", "1: 1786 GB to load"),
    Row("glm-5", "default", "h100", 8, "--tensor-parallel-size 8", "no", "1: 893 GB to load, a node has 640"),
    Row("qwen3.8-flash-next", "nvfp4", "gb200", 1, "", "fits", "6.5: one GB200"),
    Row("qwen3.8-flash-next", "nvfp4", "gb300", 1, "", "fits", "6.5: one GB300"),
    Row(
        "qwen3.8-flash-next",
        "default",
        "b300",
        4,
        "--tensor-parallel-size 4 --enable-expert-parallel --kv-cache-dtype fp8 --max-num-seqs 256 "
        "--gpu-memory-utilization 0.90",
        "fits",
        "6.5: TEP4 on B300",
        262_144,
    ),
    Row(
        "qwen3.8-flash-next",
        "default",
        "h200",
        8,
        "--tensor-parallel-size 8 --enable-expert-parallel --kv-cache-dtype fp8 --max-num-seqs 256 "
        "--gpu-memory-utilization 0.85",
        "fits",
        "6.5: TEP8 on H200",
        262_144,
    ),
    Row("qwen3.8-flash-next", "mxfp4", "mi355x", 1, "", "fits", "6.5: MI355X"),
    Row("qwen3.8-flash-next", "bf16", "h200", 8, "--tensor-parallel-size 8", "fits", "6.5: BF16, 8 H200", 262_144),
    Row("minimax-m3", "nvfp4", "b200", 8, "--tensor-parallel-size 8", "fits", "6.7: 257 GB, Blackwell", 1_048_576),
    Row("minimax-m3", "default", "h200", 8, "--tensor-parallel-size 8", "fits", "6.7: 1025 GB to load"),
)
CATALOGUE = Catalogue.of()


def predicted(row: Row) -> Forecast:
    recipe = CATALOGUE.find(row.model).recipe
    gpu = Gpu(BYTES[row.hardware], KIND.get(row.hardware, "blackwell"))
    argv = ["vllm", "serve", "model", *row.words.split()]
    found = forecast(recipe, row.variant, argv, "0.33.0", gpu, context=row.context)
    assert found is not None
    assert row.variant in recipe.variants
    return found


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_fit(row: Row) -> None:
    now = predicted(row)
    assert now.parallel.gpus == row.gpus
    assert (now.plan.fits is (row.says == "fits")) is (not row.differs), (row.source, row.differs, now.plan)


def test_every_series_that_the_handbook_sizes_and_a_source_describes_is_in_the_table() -> None:
    """Not in it: the four series of which no source gives an architecture or, of one, the weights' shares."""
    described = {one.rpartition("/")[2] for one in CATALOGUE.ids() if CATALOGUE.find(one).recipe.bringup.architecture}
    rows = {CATALOGUE.find(row.model).id.rpartition("/")[2] for row in ROWS}
    assert described - rows == {"GLM-5.3", "Qwen3.8-2.4T-A95B"}, "for these the handbook names no hardware"


def test_what_no_source_describes_is_unknown_and_not_guessed() -> None:
    for model in ("ernie-5.5", "mistral-large-4", "kimi-k3.1"):
        recipe = CATALOGUE.find(model).recipe
        assert forecast(recipe, "default", ["vllm", "serve", "m"], "0.33.0", Gpu(BYTES["h200"], "hopper")) is None
