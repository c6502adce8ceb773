"""The architecture of a model by its own `config.json`: what a checkpoint on disk says is found, not assumed. Pure.

Read are the families that vLLM serves and that `Part` describes: attention by heads with or without windows, latents
(MLA) with or without an indexer, gated delta nets, mixtures of experts. A key that is not understood makes the answer
say what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launch.memory.architecture import Architecture, Delta, Experts, Heads, Known, Part, Records
from launch.memory.dtypes import element_size

_EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts")
_WIDTHS = ("moe_intermediate_size", "intermediate_size")
_STORED = {"fp8": {"hopper": "fp8_ds_mla"}, "fp8_e4m3": {"hopper": "fp8_ds_mla"}}  # see architectures/glm-5.yaml
_LINEAR = {"linear_attention", "gated_delta_net"}
_WINDOWED = {"sliding_attention", "sliding_window"}
_UNREAD = {
    "mamba_d_state": "states of Mamba layers",
    "compress_ratios": "compressed states",
    "linear_attn_config": "states of Kimi delta attention",
    "attention_chunk_size": "chunked local attention",
    "layers_block_type": "layers of several types",
}


def of_config(config: Mapping[str, Any], source: str = "config.json of the model") -> Known:
    """Read a `config.json`; a multimodal one by its text part. Absent stays absent."""
    text = config.get("text_config")
    own = {**config, **text} if isinstance(text, Mapping) else dict(config)
    types = _types(own)
    missing = [what for key, what in _UNREAD.items() if own.get(key)]
    caches = tuple(_caches(own, types))
    if not caches:
        missing.append("attention heads")
    return Known(
        Architecture(
            model=str(own.get("_name_or_path") or (own.get("architectures") or ["unnamed"])[0]),
            source=source,
            layers=_number(own, "num_hidden_layers"),
            hidden=_number(own, "hidden_size"),
            heads=_number(own, "num_attention_heads"),
            vocabulary=_number(own, "vocab_size"),
            context=_number(own, "max_position_embeddings"),
            dtype=_dtype(own),
            caches=caches,
            experts=_experts(own),
            becomes=_STORED if any(isinstance(one, Records) and one.role == "index" for one in caches) else {},
            missing=tuple(missing),
        ),
        {},
    )


def _dtype(own: Mapping[str, Any]) -> str:
    """The type of a checkpoint's numbers; vLLM serves float32 ones in it only when told to, else in bfloat16."""
    named = str(own.get("dtype") or own.get("torch_dtype") or "bfloat16")
    return named if element_size(named) == 2 else "bfloat16"


def _types(own: Mapping[str, Any]) -> list[str]:
    """The type of each layer: by name, else by an interval, else all alike."""
    layers = _number(own, "num_hidden_layers") or 0
    named = own.get("layer_types")
    if isinstance(named, Sequence) and not isinstance(named, str):
        return [str(one) for one in named][:layers]
    window = _window(own)
    if interval := _number(own, "full_attention_interval"):
        return ["full_attention" if (at + 1) % interval == 0 else "linear_attention" for at in range(layers)]
    if window and (pattern := _number(own, "sliding_window_pattern")):
        return ["full_attention" if (at + 1) % pattern == 0 else "sliding_attention" for at in range(layers)]
    return ["sliding_attention" if window else "full_attention"] * layers


def _window(own: Mapping[str, Any]) -> int | None:
    return None if own.get("use_sliding_window") is False else _number(own, "sliding_window")


def _caches(own: Mapping[str, Any], types: Sequence[str]) -> Iterator[Part]:
    linear = sum(one in _LINEAR for one in types)
    windowed = sum(one in _WINDOWED for one in types) if _window(own) else 0
    full = len(types) - linear - windowed
    if full:
        yield from _attention(own, full, None)
    if windowed:
        yield from _attention(own, windowed, _window(own))
    if linear:
        yield from _delta(own, linear)


def _attention(own: Mapping[str, Any], layers: int, window: int | None) -> Iterator[Part]:
    rank = _number(own, "kv_lora_rank")
    if rank is not None:
        size = rank + (_number(own, "qk_rope_head_dim") or 0)
        packed = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352} if size == 576 else {}
        sizes = {"bf16": 2 * size, "fp8": size, "fp32": 4 * size, **packed}
        yield Records(kind="records", what="latents", layers=layers, bytes_by_dtype=sizes, window=window)
        if index := _number(own, "index_head_dim"):
            keys = {"fp8": index + 4, "mxfp4": index // 2 + index // 32}
            yield Records(kind="records", what="index keys", role="index", layers=layers, bytes_by_dtype=keys)
        return
    heads, hidden = _number(own, "num_attention_heads"), _number(own, "hidden_size")
    size_of_head = _number(own, "head_dim") or (hidden // heads if hidden and heads else None)
    kv_heads = _number(own, "num_key_value_heads") or heads
    if kv_heads and size_of_head:
        yield Heads(kind="heads", layers=layers, kv_heads=kv_heads, head_size=size_of_head, window=window)


def _delta(own: Mapping[str, Any], layers: int) -> Iterator[Part]:
    names = ("key_heads", "value_heads", "key_size", "value_size", "kernel")
    keys = ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim", "conv_kernel_dim")
    found = {name: _number(own, f"linear_{key}") for name, key in zip(names, keys, strict=True)}
    if all(found.values()):
        dtype = str(own.get("mamba_ssm_dtype") or _dtype(own))
        yield Delta.model_validate({"kind": "delta", "layers": layers, "recurrent_dtype": dtype, **found})


def _experts(own: Mapping[str, Any]) -> Experts | None:
    count = next((found for key in _EXPERTS if (found := _number(own, key))), None)
    width = next((found for key in _WIDTHS if (found := _number(own, key))), None)
    layers = (_number(own, "num_hidden_layers") or 0) - (_number(own, "first_k_dense_replace") or 0)
    if count is None or width is None or layers <= 0:
        return None
    return Experts(count=count, layers=layers, width=width)


def _number(own: Mapping[str, Any], key: str) -> int | None:
    found = own.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None
