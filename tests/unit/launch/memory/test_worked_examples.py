"""The arithmetic that published texts work out, each with its source: the same numbers come out here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launch.memory import Parallel, Settings, bytes_per_token, load, predict
from launch.memory.architecture import Architecture, Heads, Records, names
from launch.memory.caches import caches_of
from launch.memory.pool import Kind

KIB = 1024
HANDBOOK = "frontier deployment handbook"
GUIDE = "vLLM tuning guide"
CATALOGUE = Path(__file__).parents[5] / "shared/catalogue/kv-arch.json"


def model(part: Heads | Records) -> Architecture:
    return Architecture(model="example", source="the text", caches=(part,))


def heads(layers: int, kv_heads: int, head_size: int) -> Architecture:
    return model(Heads(kind="heads", layers=layers, kv_heads=kv_heads, head_size=head_size))


def latents(layers: int) -> Architecture:
    sizes = {"bf16": 1152, "fp8": 576, "fp8_ds_mla": 656, "nvfp4_ds_mla": 352}
    return model(Records(kind="records", what="latents", layers=layers, bytes_by_dtype=sizes))


@pytest.mark.parametrize(
    ("architecture", "dtype", "expected", "source"),
    [
        (heads(80, 8, 128), "auto", 327_680, f"{HANDBOOK} 2: Llama-3.3-70B, bf16, GQA with 8 heads"),
        (heads(80, 64, 128), "auto", 8 * 327_680, f"{HANDBOOK} 2: the same with MHA is eight times as much"),
        (heads(80, 1, 128), "auto", 327_680 // 8, f"{HANDBOOK} 2: MQA is 1 / n_heads"),
        (heads(32, 32, 128), "float16", 524_288, f"{GUIDE}: a 7B model with 32 heads of 128 in float16"),
        (heads(32, 32, 128), "fp8", 262_144, f"{GUIDE}: fp8 halves it"),
        (latents(61), "auto", 70_272, f"{HANDBOOK} 2: DeepSeek-V3, bf16"),
        (latents(61), "fp8", 35_136, f"{HANDBOOK} 4.1: 68.6 KiB become 34.3 KiB with fp8"),
        (latents(78), "fp8", 44_928, f"{HANDBOOK} 2: GLM-5, fp8, the latents alone"),
        (latents(1), "nvfp4_ds_mla", 352, f"{HANDBOOK} 4.1: NVFP4 takes 576 B a token and layer to 352 B"),
        (latents(1), "fp8_ds_mla", 656, "vLLM 0.33.0, mla_attention.py"),
    ],
)
def test_bytes_of_a_token(architecture: Architecture, dtype: str, expected: int, source: str) -> None:
    assert bytes_per_token(architecture, Settings(kv_dtype=dtype)) == expected, source


@pytest.mark.parametrize(
    ("name", "dtype", "generation", "expected", "source"),
    [
        ("glm-5", "fp8", "blackwell", 55_224, "kv-arch: 53.9 KiB with the indexer, which the handbook leaves out"),
        ("glm-5", "fp8", "hopper", 61_464, "kv-arch: 60.0 KiB, fp8_ds_mla on Hopper"),
        ("glm-5.3", "fp8", "blackwell", 47_700, "kv-arch: 46.6 KiB, 21 layers have an indexer"),
        ("glm-5.3", "fp8", "hopper", 53_940, "kv-arch: 52.7 KiB"),
        ("deepseek-v4-pro", "fp8", "hopper", 5_511.4375, "kv-arch: 5,511 B"),
        ("kimi-k3", "fp8", "blackwell", 13_824, "kv-arch: 13.5 KiB, 24 layers of 93"),
        ("gpt-oss-120b", "auto", "hopper", 36_864, "kv-arch: 18 full-attention layers"),
        ("minimax-m3", "auto", "hopper", 137_472, "kv-arch"),
        ("qwen3.5-397b", "auto", "hopper", 30_720, "kv-arch: 15 full-attention layers"),
        ("qwen3.8-flash-next", "auto", "hopper", 25_344, "kv-arch"),
        ("qwen3.8-2.4t", "auto", "hopper", 94_208, "kv-arch: if a head has 256 numbers"),
    ],
)
def test_bytes_of_a_token_of_the_architectures(
    name: str, dtype: str, generation: str, expected: float, source: str
) -> None:
    found = bytes_per_token(load(name).architecture, Settings(kv_dtype=dtype), generation)
    assert found == expected, source


def test_index_keys_in_mxfp4() -> None:
    """kv-arch: 5,031 B a token of DeepSeek-V4-Pro; only `indexer_kv_dtype` changes index keys."""
    one = load("deepseek-v4-pro").architecture
    assert bytes_per_token(one, Settings(kv_dtype="fp8", index_dtype="mxfp4"), "blackwell") == 5_031.4375


def test_the_same_model_in_fp8_is_a_seventh_of_llama() -> None:
    """The handbook, 2: GLM-5 in fp8 against Llama-3.3-70B in bf16."""
    assert 327_680 // 44_928 == 7


def test_24_gb_hold_about_48_000_tokens() -> None:
    """The tuning guide: 24 GB of cache, 0.5 MB a token."""
    settings = Settings(kv_dtype="float16", kv_cache_bytes=24 * 10**9)
    plan = predict(heads(32, 32, 128), None, Parallel(), settings, None, context=4096)
    assert plan.tokens is not None
    assert 45_000 < plan.tokens < 48_000


def test_the_two_lines_of_the_handbook_agree() -> None:
    """The handbook, 2: 643,232 tokens are 15.70 requests of 40,960."""
    blocks = 643_232 // 16
    plan = predict(
        heads(28, 8, 128), None, Parallel(), Settings(kv_cache_bytes=blocks * 16 * 114_688), None, context=40_960
    )
    assert plan.tokens == 643_232
    assert plan.concurrency is not None
    assert f"{plan.concurrency:.2f}" == "15.70"


def test_expert_parallel_size_is_tensor_by_data() -> None:
    """The handbook, 5: eight-way EP takes DP8 x TP1 or DP4 x TP2."""
    assert Parallel(data=8, expert=True).expert_size == Parallel(data=4, tensor=2, expert=True).expert_size == 8
    assert Parallel(data=4, expert=True).expert_size == 4


def test_kimi_k3_gains_seven_times_by_decode_context_parallelism() -> None:
    """The handbook, 5 and 6.4: 2.6M tokens at TP8, 18.5M at DCP8; 36 and 32 GB a GPU (kv-arch)."""
    one = load("kimi-k3").architecture

    def tokens(gb: int, context: int) -> int:
        asked = Settings(kv_dtype="fp8", prefix_caching=False, kv_cache_bytes=gb * 10**9)
        plan = predict(one, None, Parallel(tensor=8, context=context), asked, None, generation="blackwell")
        return plan.tokens or 0

    assert tokens(36, 1) == pytest.approx(2_600_000, rel=0.05)
    assert tokens(32, 8) == pytest.approx(18_500_000, rel=0.1)


def test_kimi_k3_states_are_pages_of_the_pool() -> None:
    """kv-arch: 449 MB a sequence at TP1, 56 MB a GPU at TP8; one MLA and three KDA groups of 23 and 24 layers."""
    one = load("kimi-k3").architecture
    (states,) = (c for c in caches_of(one, Parallel(), Settings(kv_dtype="fp8"), "") if c.kind is Kind.STATE)
    bare = 69 * (6_291_456 + 221_184)
    assert bare == 449_372_160
    assert states.page * states.layers == pytest.approx(bare, rel=0.01), "padded to a page of attention"
    plan = predict(one, None, Parallel(tensor=8), Settings(kv_dtype="fp8", kv_cache_bytes=36 * 10**9), None)
    assert plan.groups == 4


def test_flash_next_has_blocks_of_784_tokens() -> None:
    """LMCache reports blocks of 784 tokens: TP4, float32 states."""
    one = load("qwen3.8-flash-next").architecture
    attention = caches_of(one, Parallel(tensor=4), Settings(), "")[0]
    assert attention.block == 784


def test_windows_and_states_do_not_grow_with_the_context() -> None:
    one = load("gpt-oss-120b").architecture
    settings = Settings(kv_cache_bytes=10**10, max_num_batched_tokens=2048)
    short, long = (predict(one, None, Parallel(), settings, None, context=length) for length in (65_536, 131_072))
    assert long.request_bytes is not None
    assert short.request_bytes is not None
    assert long.request_bytes - short.request_bytes == 65_536 * 36_864


@pytest.mark.skipif(not CATALOGUE.exists(), reason="the catalogue of architectures is not here")
def test_the_catalogue_and_the_data_files_agree() -> None:
    """Bytes a token of the whole model, for every model of the catalogue that has figures."""
    ids = {"GLM-5.3 (and 5.2)": "glm-5.3", "Qwen3.5-397B-A17B": "qwen3.5-397b", "Qwen3.8-2.4T-A95B": "qwen3.8-2.4t"}
    settings = {
        "bf16": (Settings(), ""),
        "fp8": (Settings(kv_dtype="fp8", index_dtype="fp8"), ""),
        "fp8_ds_mla": (Settings(kv_dtype="fp8"), "hopper"),
        "fp8_mxfp4_index": (Settings(kv_dtype="fp8", index_dtype="mxfp4"), ""),
    }
    seen = 0
    for model in json.loads(CATALOGUE.read_text(encoding="utf-8")):
        name = ids.get(model["id"], model["id"].lower())
        if name not in names():
            continue
        for dtype, expected in model["bytes_per_token_whole_model"].items():
            if dtype in settings:
                asked, generation = settings[dtype]
                assert bytes_per_token(load(name).architecture, asked, generation) == expected, (name, dtype)
                seen += 1
    assert seen > 15
