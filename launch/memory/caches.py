"""From an architecture, a layout and settings to the caches that one GPU holds. Pure.

Source: the `get_kv_cache_spec` of vLLM 0.33.0's layers and `platforms/interface.py` (`_align_hybrid_block_size`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from launch.memory import dtypes
from launch.memory.architecture import Architecture, Delta, Heads, Records
from launch.memory.pool import Cache, Kind

if TYPE_CHECKING:
    from launch.memory.settings import Parallel, Settings

BLOCK = 16
"""Tokens of a block where neither the command nor the model says: vLLM's DEFAULT_BLOCK_SIZE."""
CPU_BLOCK, CPU_LATENT_BLOCK = 128, 16
"""Of the CPU build (platforms/cpu.py of 0.32.0): its latent kernel takes no other size."""
LATENT_BLOCK = 64
"""Of latent caches: what the kernels of Hopper and Blackwell take. Which one is chosen is known on the GPU only."""
LATENT_ALIGNMENT = 128
"""The block of a hybrid model with latents is a multiple of it."""


class Unknown(Exception):
    """What is not known, in words."""


def caches_of(
    architecture: Architecture, parallel: Parallel, settings: Settings, generation: str = ""
) -> tuple[Cache, ...]:
    """Every cache of the model's layers on one GPU; a pipeline's stage holds the largest share of each.

    Raises `Unknown` for a format that is not known here.
    """
    wanted = kv_dtype(architecture, settings, generation)
    dtype = settings.model_dtype or architecture.dtype
    block = block_of(architecture, settings, generation)
    states = [state_cache(one, parallel, settings, dtype) for one in architecture.caches if isinstance(one, Delta)]
    if states:
        block = _raised(block, states, _token_bytes(architecture, parallel, wanted, dtype), architecture)
    page = _token_bytes(architecture, parallel, wanted, dtype) * block if states else 0
    made = []
    for one in architecture.caches:
        layers = ceil(one.layers / parallel.pipeline)
        if isinstance(one, Delta):
            made.append(_padded(state_cache(one, parallel, settings, dtype), layers, page))
        elif isinstance(one, Heads):
            made.append(_heads(one, layers, parallel, wanted, dtype, block, hybrid=settings.hybrid))
        else:
            made.append(_records(one, layers, settings, wanted, dtype, block))
    return tuple(made)


def kv_dtype(architecture: Architecture, settings: Settings, generation: str) -> str:
    """The format in which the cache is stored: some kernels store another one than was asked for."""
    return architecture.becomes.get(settings.kv_dtype, {}).get(generation, settings.kv_dtype)


def block_of(architecture: Architecture, settings: Settings, generation: str = "") -> int:
    """Tokens of a block before states raise it."""
    latent = any(isinstance(one, Records) and one.role == "cache" and not one.window for one in architecture.caches)
    if generation == "cpu":
        return CPU_LATENT_BLOCK if latent else settings.block or CPU_BLOCK
    return settings.block or architecture.block or (LATENT_BLOCK if latent else BLOCK)


def heads_of_rank(heads: int, tensor: int) -> int:
    """Heads of keys and values on one GPU: divided down to one, then copied."""
    return max(1, heads // tensor)


def _heads(one: Heads, layers: int, parallel: Parallel, wanted: str, dtype: str, block: int, *, hybrid: bool) -> Cache:
    head = _known(dtypes.head_bytes(wanted, dtype, one.head_size), f"bytes of a head in {wanted}")
    windowed = one.window is not None and hybrid
    return Cache(
        what=f"keys and values of {one.window} tokens" if one.window else "keys and values",
        kind=Kind.WINDOW if windowed else Kind.FULL,
        layers=layers,
        block=block,
        page=block * heads_of_rank(one.kv_heads, parallel.tensor) * head,
        window=(one.window or 0) if windowed else 0,
        sharded=not windowed,
    )


def _records(one: Records, layers: int, settings: Settings, wanted: str, dtype: str, block: int) -> Cache:
    tokens = one.block or block
    states = max(1, tokens // one.tokens_per_state)
    page = _up(states * record_bytes(one, settings, wanted, dtype), one.page_multiple)
    return Cache(
        what=one.what,
        kind=Kind.RING if one.ring else Kind.LATENT_WINDOW if one.window else Kind.FULL,
        layers=layers,
        block=tokens,
        page=page,
        window=one.window or 0,
        sharded=one.sharded and one.window is None and not one.ring,
        is_latent=True,
    )


def record_bytes(one: Records, settings: Settings, wanted: str, dtype: str) -> int:
    """Bytes of one record; the only entry where no dtype changes it."""
    if len(one.bytes_by_dtype) == 1:
        return next(iter(one.bytes_by_dtype.values()))
    asked = (settings.index_dtype or next(iter(one.bytes_by_dtype))) if one.role == "index" else wanted
    key = dtypes.record_key(asked, dtype)
    return _known(one.bytes_by_dtype.get(key), f"bytes of {one.what} in {asked}")


def state_cache(one: Delta, parallel: Parallel, settings: Settings, dtype: str) -> Cache:
    """The convolution's and the recurrent state of a sequence in one layer, divided over the tensor-parallel group."""
    convolved = 2 * one.key_heads * one.key_size + one.value_heads * one.value_size
    kept = one.kernel - 1 + settings.speculative_tokens
    narrow = _known(dtypes.element_size(dtype), f"bytes of {dtype}")
    wide = _known(dtypes.element_size(settings.state_dtype or one.recurrent_dtype), "bytes of the recurrent state")
    recurrent = one.value_heads * one.value_size * one.key_size
    page = (convolved * kept * narrow + recurrent * wide) // parallel.tensor
    copies = 1 + settings.speculative_tokens + int(settings.prefix_caching)
    return Cache("states", Kind.STATE, one.layers, BLOCK, page, copies=copies)


def _token_bytes(architecture: Architecture, parallel: Parallel, wanted: str, dtype: str) -> int:
    """Bytes of a token in one layer of the cache that pages of states are held against."""
    for one in architecture.caches:
        if isinstance(one, Heads):
            head = _known(dtypes.head_bytes(wanted, dtype, one.head_size), f"bytes of a head in {wanted}")
            return heads_of_rank(one.kv_heads, parallel.tensor) * head
        if isinstance(one, Records) and one.role == "cache":
            return _known(one.bytes_by_dtype.get(dtypes.record_key(wanted, dtype)), f"bytes of {one.what} in {wanted}")
    raise Unknown("the attention layers of the model")


def _raised(block: int, states: Sequence[Cache], token: int, architecture: Architecture) -> int:
    """The block of a hybrid model: so many tokens that an attention page is no smaller than a state."""
    latent = not any(isinstance(one, Heads) for one in architecture.caches)
    step = max(block, LATENT_ALIGNMENT) if latent else block
    return max(block, step * ceil(max(one.page for one in states) / (step * token)))


def _padded(state: Cache, layers: int, page: int) -> Cache:
    return Cache(state.what, state.kind, layers, state.block, max(page, state.page), copies=state.copies)


def _up(number: int, multiple: int) -> int:
    return ceil(number / multiple) * multiple


def _known(value: int | None, what: str) -> int:
    if value is None:
        raise Unknown(what)
    return value
