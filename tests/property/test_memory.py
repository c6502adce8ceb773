"""Laws of the memory model over drawn models, layouts and settings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launch.memory import Parallel, Settings, bytes_per_token, predict
from launch.memory.architecture import Architecture, Delta, Experts, Heads, Part, Records
from launch.memory.caches import caches_of
from launch.memory.pool import groups_of
from launch.memory.weights import Weights, per_gpu

SIZES = {"bf16": 1152, "fp8": 576}
heads = st.builds(
    Heads,
    kind=st.just("heads"),
    layers=st.integers(1, 100),
    kv_heads=st.sampled_from([1, 2, 4, 8, 64]),
    head_size=st.sampled_from([64, 128, 256]),
    window=st.sampled_from([None, 128, 4096]),
)
latents = st.builds(
    Records, kind=st.just("records"), what=st.just("latents"), layers=st.integers(1, 100), bytes_by_dtype=st.just(SIZES)
)
deltas = st.builds(
    Delta,
    kind=st.just("delta"),
    layers=st.integers(1, 100),
    key_heads=st.sampled_from([16, 32]),
    value_heads=st.sampled_from([32, 64]),
    key_size=st.just(128),
    value_size=st.just(128),
    kernel=st.just(4),
)
layouts = st.builds(Parallel, tensor=st.sampled_from([1, 2, 4, 8]), data=st.integers(1, 16), pipeline=st.integers(1, 4))


def model(*parts: Part) -> Architecture:
    return Architecture(model="drawn", source="drawn", caches=parts, hidden=1024, vocabulary=1000)


models = st.one_of(
    heads.map(model),
    latents.map(model),
    st.tuples(heads.filter(lambda one: one.window is None), heads).map(lambda both: model(*both)),
    st.tuples(heads.filter(lambda one: one.window is None), deltas).map(lambda both: model(*both)),
    st.tuples(latents, deltas).map(lambda both: model(*both)),
)
contexts = st.integers(1, 2_000_000)
amounts = st.integers(1 << 20, 1 << 40)


@settings(max_examples=100, deadline=None)
@given(models, layouts, contexts, amounts, amounts)
def test_more_memory_never_holds_less(
    one: Architecture, layout: Parallel, context: int, amount: int, another: int
) -> None:
    small, large = sorted((amount, another))
    less, more = (
        predict(one, None, layout, Settings(kv_cache_bytes=size), None, context=context) for size in (small, large)
    )
    assert less.tokens is not None
    assert more.tokens is not None
    assert less.tokens <= more.tokens
    assert (less.sequences or 0) <= (more.sequences or 0)


@settings(max_examples=100, deadline=None)
@given(models, layouts, contexts, contexts, amounts)
def test_a_longer_request_never_takes_less(
    one: Architecture, layout: Parallel, context: int, another: int, amount: int
) -> None:
    short, long = (
        predict(one, None, layout, Settings(kv_cache_bytes=amount), None, context=length)
        for length in sorted((context, another))
    )
    assert (short.request_bytes or 0) <= (long.request_bytes or 0)
    assert (short.concurrency or 0) >= (long.concurrency or 0)


@settings(max_examples=100, deadline=None)
@given(models, layouts, contexts, amounts)
def test_tokens_are_requests_by_their_length(one: Architecture, layout: Parallel, context: int, amount: int) -> None:
    plan = predict(one, None, layout, Settings(kv_cache_bytes=amount), None, context=context)
    assert plan.concurrency is not None
    assert plan.tokens == int(plan.concurrency * context)
    assert plan.state_bytes is not None
    assert 0 <= plan.state_bytes <= amount
    assert (plan.blocks or 0) * (plan.block_bytes or 0) <= amount


@settings(max_examples=60, deadline=None)
@given(latents, st.sampled_from([2, 4, 8]), st.integers(1, 1000))
def test_decode_context_parallelism_divides_what_tensor_parallelism_copies(one: Records, dcp: int, blocks: int) -> None:
    context = 64 * dcp * blocks
    asked = Settings(kv_cache_bytes=1 << 36)
    plain, tensor, cut = (
        predict(model(one), None, layout, asked, None, context=context)
        for layout in (Parallel(), Parallel(tensor=dcp), Parallel(tensor=dcp, context=dcp))
    )
    assert plain.request_bytes == tensor.request_bytes, "a latent is whole on every GPU of the group"
    assert cut.request_bytes is not None
    assert plain.request_bytes == dcp * cut.request_bytes


@settings(max_examples=60, deadline=None)
@given(heads.filter(lambda one: one.window is None), st.sampled_from([1, 2, 4, 8, 16, 128]))
def test_heads_are_divided_down_to_one_and_then_copied(one: Heads, tensor: int) -> None:
    whole, part = (bytes_per_token(model(one), Settings(), tensor=size) for size in (1, tensor))
    assert part == whole / min(tensor, one.kv_heads)


@settings(max_examples=60, deadline=None)
@given(models, layouts)
def test_every_layer_is_in_one_group(one: Architecture, layout: Parallel) -> None:
    caches = caches_of(one, layout, Settings())
    grouped = sum(part.layers for group in groups_of(caches, packed=False) for part in group.members)
    assert grouped == sum(cache.layers for cache in caches)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10**13), st.integers(0, 10**12), layouts)
def test_each_rank_has_all_that_is_no_expert(experts: int, dense: int, layout: Parallel) -> None:
    """The experts lie once over the whole gang, the rest once in every data-parallel rank."""
    bytes_ = per_gpu(Weights(experts + dense, experts, ""), layout)
    assert bytes_ is not None
    assert bytes_ == pytest.approx(experts / layout.gpus + dense / (layout.tensor * layout.pipeline), abs=3)
    alone = per_gpu(Weights(experts + dense, experts, ""), replace(layout, data=1))
    assert bytes_ <= (alone or 0)
    assert layout.expert_size == layout.tensor * layout.data


@given(st.integers(1, 10**13), st.integers(2, 64))
def test_a_share_that_nobody_knows_is_not_guessed(total: int, ranks: int) -> None:
    assert per_gpu(Weights(total, None, ""), Parallel(data=ranks)) is None
    assert per_gpu(Weights(total, None, ""), Parallel()) == total


def test_experts_are_counted_by_their_dimensions() -> None:
    one = model().model_copy(update={"experts": Experts(count=128, layers=36, width=2880), "hidden": 2880})
    from launch.memory.weights import expert_bytes

    assert expert_bytes(one, "bf16") == 128 * 36 * 3 * 2880 * 2880 * 2
    assert expert_bytes(one, "mxfp4") == pytest.approx(128 * 36 * 3 * 2880 * 2880 * 4.25 / 8, abs=1)
    assert expert_bytes(one, "a new format") is None
