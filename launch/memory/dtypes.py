"""Bytes that a KV dtype of vLLM costs. Pure.

Source: `customize_spec` of the attention backends and `v1/kv_cache_interface.py` of vLLM 0.33.0.
"""

from __future__ import annotations

from fractions import Fraction

SIZES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2}
_PER_TOKEN_HEAD_SCALES = 4  # of keys, and as many of values


def element_size(dtype: str) -> int | None:
    """Bytes of one number; None for a dtype that is not one of a model."""
    return SIZES.get(dtype)


def head_bytes(kv_dtype: str, model_dtype: str, head_size: int) -> int | None:
    """Bytes of the key and the value of one head and token; None for a format that is not known here."""
    if kv_dtype == "auto" or kv_dtype in SIZES:
        size = element_size(model_dtype if kv_dtype == "auto" else kv_dtype)
        return None if size is None else 2 * head_size * size
    if kv_dtype in {"int8_per_token_head", "fp8_per_token_head"}:
        return 2 * (head_size + _PER_TOKEN_HEAD_SCALES)
    if kv_dtype == "int4_per_token_head":
        return 2 * (head_size // 2 + _PER_TOKEN_HEAD_SCALES)
    if kv_dtype in {"nvfp4", "nvfp4_4over6"}:
        return 2 * (head_size // 2 + head_size // 16)
    return 2 * head_size if kv_dtype in {"fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc"} else None


def record_key(kv_dtype: str, model_dtype: str) -> str:
    """The name under which data files give the bytes of a record for a KV dtype."""
    named = model_dtype if kv_dtype == "auto" else kv_dtype
    names = {"bfloat16": "bf16", "float16": "bf16", "half": "bf16", "float32": "fp32", "float": "fp32"}
    return names.get(named, "fp8" if named in {"fp8_e4m3", "fp8_e5m2"} else named)


EXPERT_BITS: dict[str, Fraction] = {
    "fp32": Fraction(32),
    "bf16": Fraction(16),
    "fp8": Fraction(8),  # and 4 bytes for a square of 128 x 128
    "mxfp8": 8 + Fraction(8, 32),  # a scale byte for 32 numbers
    "mxfp4": 4 + Fraction(8, 32),
    "fp4+fp8": 4 + Fraction(8, 32),  # experts in MXFP4, the rest in FP8
    "nvfp4": 4 + Fraction(8, 16),  # a scale byte for 16 numbers
    "int4": 4 + Fraction(16 + 4, 128),  # GPTQ: a scale and a zero for 128 numbers
}
"""Bits of one weight of a routed expert by a variant's precision: the formats' own definitions."""
