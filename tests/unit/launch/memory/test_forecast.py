"""From a recipe's command to a bar, its numbers and what would change them."""

from __future__ import annotations

import json

import pytest

from launch.catalogue.find import Catalogue
from launch.memory import overhead
from launch.memory.gpus import MIB, Gpu, of_profile
from launch.memory.of_recipe import Forecast, forecast
from launch.memory.sensitivity import changes
from launch.memory.settings import UTILISATION, Parallel, of_argv
from launch.memory.show import WIDTH, bar, document, lines, parts_of
from launch.memory.weights import weights_of

CATALOGUE = Catalogue.of()
H200 = Gpu(143771 * MIB, "hopper", "by a capture")


def asked(model: str, words: str, gpu: Gpu = H200, variant: str = "default", context: int | None = None) -> Forecast:
    recipe = CATALOGUE.find(model).recipe
    found = forecast(recipe, variant, ["vllm", "serve", "m", *words.split()], "0.33.0", gpu, context=context)
    assert found is not None
    return found


def test_settings_are_read_by_the_schema_of_the_version() -> None:
    settings, parallel = of_argv(
        [
            *("vllm", "serve", "m", "-tp", "4", "--data-parallel-size", "2", "-dcp", "4", "--enable-expert-parallel"),
            *("--kv-cache-dtype", "fp8", "--max-model-len", "64K", "--gpu-memory-utilization", "0.85"),
            *("--kv-cache-memory-bytes", "40G", "--attention-config.indexer_kv_dtype", "mxfp4", "--enforce-eager"),
            *("--speculative-config", '{"method":"mtp","num_speculative_tokens":3}', "--no-enable-prefix-caching"),
            *("--mamba-ssm-cache-dtype", "bfloat16", "--block-size", "64", "--max-num-seqs", "7"),
        ],
        "0.33.0",
    )
    assert parallel == Parallel(tensor=4, data=2, context=4, expert=True)
    assert (settings.kv_dtype, settings.index_dtype, settings.state_dtype) == ("fp8", "mxfp4", "bfloat16")
    assert (settings.max_model_len, settings.block, settings.max_num_seqs) == (65_536, 64, 7)
    assert (settings.utilisation, settings.kv_cache_bytes, settings.eager) == (0.85, 40 * 2**30, True)
    assert (settings.speculative_tokens, settings.prefix_caching) == (3, False)


def test_what_a_command_does_not_say_is_vllms_own() -> None:
    settings, parallel = of_argv(["serve", "m"], "0.33.0")
    assert parallel == Parallel()
    assert (settings.utilisation, settings.kv_dtype, settings.max_model_len) == (UTILISATION, "auto", None)
    assert [settings.batched_tokens(gib << 30) for gib in (24, 80, 140, 185)] == [2048, 8192, 8192, 16384]
    assert [settings.sequences(gib << 30) for gib in (24, 80)] == [256, 1024]
    assert settings.in_flight(Parallel(), 80 << 30) == 2 * 8192
    assert settings.in_flight(Parallel(pipeline=2), 80 << 30) == 3 * 8192


def test_the_tiny_model_on_cpu_is_predicted_to_the_token() -> None:
    found = CATALOGUE.find("tiny-dense").recipe
    now = forecast(found, "default", ["serve", "m", *found.model.base_args], "0.32.0", Gpu(None, "cpu"))
    assert now is not None
    assert (now.plan.tokens, now.plan.concurrency, now.plan.is_bound) == (65_536, 128.0, False)
    assert now.plan.unknown == ()
    assert now.plan.loads is None, "nothing is known of the host's memory"


def test_what_is_unknown_makes_a_bound_and_is_named() -> None:
    plan = asked("glm-5", "--tensor-parallel-size 8").plan
    assert plan.is_bound
    assert plan.unknown == (overhead.RUNTIME, overhead.GRAPHS)
    assert plan.fits is True
    eager = asked("glm-5", "--tensor-parallel-size 8 --enforce-eager").plan
    assert eager.unknown == (overhead.RUNTIME,)


def test_without_the_experts_share_nothing_is_said_of_data_parallel_ranks() -> None:
    """The 2.4T model: no source gives its hidden size."""
    alone = asked("qwen3.8-2.4t", "--tensor-parallel-size 16").plan
    assert alone.weights_bytes is not None
    ranks = asked("qwen3.8-2.4t", "--data-parallel-size 16 --enable-expert-parallel").plan
    assert ranks.weights_bytes is None
    assert ranks.tokens is None
    assert ranks.fits is None
    assert any("experts" in one for one in ranks.unknown)


def test_a_format_that_nobody_described_is_unknown() -> None:
    plan = asked("gpt-oss-120b", "--kv-cache-dtype turboquant_4bit_nc").plan
    assert plan.tokens is None
    assert any("turboquant_4bit_nc" in one for one in plan.unknown)


def test_weights_that_cannot_be_are_not_used() -> None:
    """Kimi-K3: 1680 / 1.2 GB, an estimate, is less than the experts alone by their dimensions."""
    now = asked("kimi-k3", "--tensor-parallel-size 8")
    assert now.weights is not None
    assert now.weights.experts is None
    assert "1446456066048 bytes" in now.weights.source
    known = now.known.architecture
    assert weights_of(known, "mxfp4", 1_500 * 10**9, "files").experts is not None  # type: ignore[union-attr]


def test_what_changes_most_comes_first_and_is_computed() -> None:
    now = asked("kimi-k3", "--tensor-parallel-size 8 --kv-cache-dtype fp8", Gpu(288 * 10**9, "blackwell"))
    found = {one.what: one for one in changes(now)}
    assert next(iter(found)) == "--decode-context-parallel-size 8"
    assert 6.5 < found["--decode-context-parallel-size 8"].ratio < 8
    assert found["--kv-cache-dtype auto"].ratio == pytest.approx(0.5, abs=0.02)
    ratios = [abs(one.concurrency / (now.plan.concurrency or 1) - 1) for one in found.values()]
    assert ratios == sorted(ratios, reverse=True)
    assert "--mamba-ssm-cache-dtype bfloat16" not in found or found["--mamba-ssm-cache-dtype bfloat16"].ratio > 1


def test_changes_count_the_whole_gang() -> None:
    now = asked("qwen3.5-397b", "--data-parallel-size 8 --enable-expert-parallel")
    found = {one.what: one for one in changes(now)}
    assert found["TP 2 x DP 4 on the same GPUs"].gpus == 8
    assert found["--kv-cache-dtype fp8"].before == (now.plan.tokens or 0) * 8


def test_nothing_is_compared_with_what_is_unknown() -> None:
    assert changes(asked("qwen3.8-2.4t", "--data-parallel-size 16 --enable-expert-parallel")) == ()


def test_the_bar_is_as_wide_as_the_gpu() -> None:
    plan = asked("glm-5", "--tensor-parallel-size 8").plan
    assert plan.gpu_bytes is not None
    drawn = bar(plan.gpu_bytes, parts_of(plan))
    assert abs(len(drawn) - WIDTH) <= 1
    assert drawn.count("#") == round((plan.weights_bytes or 0) * WIDTH / plan.gpu_bytes)
    assert sum(part or 0 for part in parts_of(plan).values()) == plan.gpu_bytes


def test_what_does_not_fit_goes_over_the_edge() -> None:
    plan = asked("glm-5", "--tensor-parallel-size 8", variant="bf16").plan
    assert plan.gpu_bytes is not None
    drawn = bar(plan.gpu_bytes, parts_of(plan))
    assert len(drawn) == WIDTH
    assert drawn.endswith("!")
    assert plan.loads is False
    assert plan.fits is False


def test_people_read_the_two_lines_of_the_log() -> None:
    text = "\n".join(lines(asked("gpt-oss-120b", "")))
    assert "GPU KV cache size: at most " in text
    assert " tokens, Maximum concurrency for 131,072 tokens per request: at most " in text
    assert "what changes it most" in text
    assert "files of 65.2 GB" in text


def test_programs_read_everything() -> None:
    read = json.loads(json.dumps(document(asked("deepseek-v4-pro", "--data-parallel-size 8 --enable-expert-parallel"))))
    assert read["parallel"]["expert_size"] == 8
    assert read["doubts"]["dense_bytes"]["status"] == "derived"
    assert read["plan"]["fits"] is False
    assert {one["what"] for one in read["changes"]}
    assert next(iter(read["parts"])) == "weights"


def test_gpus_of_profiles_are_what_drivers_report_or_say_that_they_are_not() -> None:
    library = CATALOGUE.find("glm-5").library
    assert of_profile("h200", library.profile("h200")).bytes == 143771 * MIB
    vendor = of_profile("b300", library.profile("b300"))
    assert vendor.bytes == 268 * 10**9
    assert "the vendor's figure" in vendor.source
    assert of_profile("cpu", library.profile("cpu")).bytes is None
