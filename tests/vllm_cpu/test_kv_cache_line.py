"""What the real vLLM logs of its KV cache for a tiny model of each family that its CPU build runs, against ours."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from launch.memory import Parallel, Settings, predict
from launch.memory.from_config import of_config
from launch.running.cache_lines import of_lines

pytestmark = [pytest.mark.vllm_cpu, pytest.mark.serial, pytest.mark.timeout(600)]

SETTINGS = Settings(kv_cache_bytes=64 << 20, max_model_len=1024, max_num_seqs=8, max_num_batched_tokens=1024)
START = f"""
import sys
from vllm import LLM
LLM(model=sys.argv[1], load_format="dummy", skip_tokenizer_init=True, enforce_eager=True,
    max_model_len={SETTINGS.max_model_len}, max_num_seqs={SETTINGS.max_num_seqs},
    max_num_batched_tokens={SETTINGS.max_num_batched_tokens}, kv_cache_memory_bytes={SETTINGS.kv_cache_bytes})
"""
ENV = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
}
COMMON: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "intermediate_size": 128,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "dtype": "bfloat16",
}
EXPERTS: dict[str, Any] = {"num_experts_per_tok": 2, "moe_intermediate_size": 64, "norm_topk_prob": True}
FAMILIES: dict[str, dict[str, Any]] = {
    "heads": {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 4},
    "windows": {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "sliding_window": 128,
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 32,
    },
    "latents": {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "num_hidden_layers": 3,
        "num_key_value_heads": 4,
        "kv_lora_rank": 512,
        "q_lora_rank": 64,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
        "n_group": 1,
        "topk_group": 1,
        "routed_scaling_factor": 1.0,
        "scoring_func": "sigmoid",
        "topk_method": "noaux_tc",
        **EXPERTS,
    },
    "states": {
        "architectures": ["Qwen3NextForCausalLM"],
        "model_type": "qwen3_next",
        "num_hidden_layers": 8,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
        "linear_conv_kernel_dim": 4,
        "num_experts": 4,
        "shared_expert_intermediate_size": 64,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "partial_rotary_factor": 0.25,
        **EXPERTS,
    },
}


def logged(environment: Path, config: dict[str, Any], folder: Path) -> str:
    """Start the engine on weights that are made up, in one process, and return its log."""
    (folder / "model").mkdir()
    (folder / "model/config.json").write_text(json.dumps(config), encoding="utf-8")
    env = {**ENV, "PATH": f"{environment}/bin:/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)}
    argv = [f"{environment}/bin/python", "-c", START, str(folder / "model")]
    done = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_the_line_is_as_predicted(environment: Path, family: str, tmp_path: Path) -> None:
    config = COMMON | FAMILIES[family]
    (real,) = of_lines(logged(environment, config, tmp_path).splitlines())
    known = of_config(config)
    assert not known.architecture.missing
    plan = predict(known.architecture, None, Parallel(), SETTINGS, None, generation="cpu")
    assert not plan.is_bound
    assert (real.context, plan.context) == (1024, 1024)
    assert plan.tokens == pytest.approx(real.tokens, rel=0.05)
    assert plan.concurrency == pytest.approx(real.concurrency, rel=0.05)
