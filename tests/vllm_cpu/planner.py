"""Asks a real vLLM's own planner: reads caches as JSON, makes its specs of them, writes groups, block and pages.

Run by the Python of an environment with vLLM, not imported. `planner.py ASKED SAID`.
"""

# ruff: noqa: ANN001, ANN201  (of an environment that is not this project's)
# mypy: ignore-errors

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
from vllm.v1.kv_cache_interface import (
    CircularBufferSpec,
    FullAttentionSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowMLASpec,
    SlidingWindowSpec,
)
from vllm.v1.kv_cache_layout import KVCacheLayout

try:
    from vllm.v1.core import kv_cache_planning as planning
except ImportError:  # 0.32
    from vllm.v1.core import kv_cache_utils as planning
from vllm.v1.core.kv_cache_utils import get_max_concurrency_for_kv_cache_config


def config(case):
    layout = KVCacheLayout.BLHNC if case["packed"] else KVCacheLayout.LBNHC
    return SimpleNamespace(
        scheduler_config=SimpleNamespace(disable_hybrid_kv_cache_manager=False),
        attention_config=SimpleNamespace(hisparse_config=None),
        speculative_config=None,
        cache_config=SimpleNamespace(
            get_resolved_kv_cache_layout=lambda: layout, mamba_cache_mode="none", num_gpu_blocks_override=None
        ),
        model_config=SimpleNamespace(max_model_len=case["context"], hf_config=None, hf_text_config=None),
        parallel_config=SimpleNamespace(decode_context_parallel_size=case["dcp"]),
        max_in_flight_tokens=case["in_flight"],
    )


def spec(one):
    block, page, kind = one["block"], one["page"], one["kind"]
    if kind == "state":
        return MambaSpec(
            block_size=block,
            shapes=((page,),),
            dtypes=(torch.uint8,),
            num_speculative_blocks=one["copies"] - 1,
        )
    token, rest = divmod(page, block)
    size = {"block_size": block, "num_kv_heads": 1, "dtype": torch.uint8, "dcp_sharded": one["sharded"]}
    if rest:
        size |= {"head_size": token, "page_size_padded": page}
    else:
        size |= {"head_size": token}
    if kind == "latent window":
        return SlidingWindowMLASpec(**size, sliding_window=one["window"])
    if kind == "full" and one["is_latent"]:
        return MLAAttentionSpec(**size)
    if kind == "ring":
        return CircularBufferSpec(**size, head_size_v=0)
    if kind == "window":
        return SlidingWindowSpec(**size, head_size_v=0, sliding_window=one["window"])
    return FullAttentionSpec(**size, head_size_v=0)


def plan(case):
    specs = {f"{at}.{layer}": spec(one) for at, one in enumerate(case["caches"]) for layer in range(one["layers"])}
    asked = config(case)
    try:
        groups = planning.get_kv_cache_groups(asked, specs)
    except NotImplementedError:
        return None
    except StopIteration:  # it makes a group without layers of what no model has
        return "fault"
    if sum(len(group.layer_names) for group in groups) != len(specs):
        return "fault"
    block = planning._get_kv_cache_bytes_per_block(groups, asked.cache_config.get_resolved_kv_cache_layout())
    blocks = 10**9
    made = SimpleNamespace(kv_cache_groups=groups, num_blocks=blocks, hisparse_host_num_blocks=None)
    pages = round(blocks / get_max_concurrency_for_kv_cache_config(asked, made))
    return {"groups": len(groups), "block_bytes": block, "pages": pages}


cases = json.loads(Path(sys.argv[1]).read_text())
Path(sys.argv[2]).write_text(json.dumps([plan(case) for case in cases]))
