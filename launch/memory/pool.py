"""The block pool of vLLM's KV cache: groups of layers, bytes of a block, blocks of a request. Pure integers.

A restatement of vLLM 0.33.0's `v1/core/kv_cache_planning.py` and `kv_cache_utils.py` (0.32.0 plans the same). All
groups take their blocks from one pool; a block is as large as its widest group's pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil


class Kind(StrEnum):
    """What a page of a cache is. Pages of different kinds never share a group."""

    FULL = "full"  # all tokens: keys and values, latents, index keys
    WINDOW = "window"  # keys and values of the last tokens
    LATENT_WINDOW = "latent window"
    STATE = "state"  # of a linear-attention layer: as large for one token as for a million
    RING = "ring"  # one page for each request


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache of `layers` layers that are alike, as one GPU holds it.

    `block`: tokens of a page; `page`: bytes of a page in one layer; `window`: tokens that are kept; `copies`: pages
    of a state for one request; `sharded`: decode context parallelism divides its tokens over GPUs.
    """

    what: str
    kind: Kind
    layers: int
    block: int
    page: int
    window: int = 0
    copies: int = 1
    sharded: bool = False
    is_latent: bool = False  # one vector for a token; where all tokens are kept, its page is repeated and never padded
    padded_from: int = 0  # bytes of a page before it was padded to another's

    def pages(self, context: int, *, in_flight: int, dcp: int) -> int:
        """Pages of one request of `context` tokens in one layer; `in_flight`: tokens scheduled and not settled."""
        if self.kind is Kind.FULL:
            return ceil(ceil(context / (dcp if self.sharded else 1)) / self.block)
        if self.kind in {Kind.WINDOW, Kind.LATENT_WINDOW}:
            return ceil(min(self.window - 1 + in_flight, context) / self.block) + 1
        return self.copies if self.kind is Kind.STATE else 1


@dataclass(frozen=True, slots=True)
class Group:
    """Layers with one block table. `members`: caches with as many layers as the group has of them."""

    members: tuple[Cache, ...]

    @property
    def block_bytes(self) -> int:
        return sum(one.layers * one.page for one in self.members)

    def pages(self, context: int, *, in_flight: int, dcp: int) -> int:
        return max(one.pages(context, in_flight=in_flight, dcp=dcp) for one in self.members)


def groups_of(caches: Sequence[Cache], *, packed: bool) -> tuple[Group, ...]:
    """Divide the caches of a model into groups. `packed`: pages of several sizes lie side by side in a block.

    Raises `ValueError` where vLLM has no way to give them one page size.
    """
    if not caches:
        return ()
    if _alike(caches):
        return (Group(tuple(caches)),)
    if packed and len({one.page for one in caches}) > 1:
        return tuple(_packed(caches))
    try:
        return tuple(_of_one_page_size(_one_page_size(caches)))
    except ValueError:
        kept = _windows_kept_whole(caches)
        if kept is None:
            raise
        return (Group(kept),)


def block_bytes(groups: Iterable[Group]) -> int:
    """Bytes of a block of the pool on one GPU."""
    return max((group.block_bytes for group in groups), default=0)


def pages_of_request(groups: Iterable[Group], context: int, *, in_flight: int, dcp: int) -> int:
    """Blocks of the pool that a request of `context` tokens takes at most."""
    return sum(group.pages(context, in_flight=in_flight, dcp=dcp) for group in groups)


def _alike(caches: Sequence[Cache]) -> bool:
    """Whether the caches may share one block table: all of them hold pages of the same tokens."""
    first = caches[0]
    if any((one.kind, one.block, one.sharded) != (first.kind, first.block, first.sharded) for one in caches):
        return False
    if first.kind is Kind.STATE:
        return all((one.copies, one.page) == (first.copies, first.page) for one in caches)
    return all(one.window == first.window for one in caches)


def _one_page_size(caches: Sequence[Cache]) -> list[Cache]:
    """Make all pages as large as the largest: by more tokens in a page, else by padding."""
    largest = max(one.page for one in caches)
    made = []
    for one in caches:
        times, rest = divmod(largest, one.page)
        if one.page == largest:
            made.append(one)
        elif one.kind is Kind.STATE:
            made.append(replace(one, page=largest, padded_from=one.page))
        elif rest == 0:
            made.append(replace(one, page=largest, block=one.block * times))
        elif one.kind is not Kind.FULL or not one.is_latent:
            made.append(replace(one, page=largest, padded_from=one.page))
        else:
            raise ValueError(f"a page of {one.what} has {one.page} bytes, and {largest} is no multiple of it")
    return made


def _windows_kept_whole(caches: Sequence[Cache]) -> tuple[Cache, ...] | None:
    """All tokens of windows beside latents that no other page size suits, as vLLM then keeps them; None: it cannot."""
    kinds = {one.kind for one in caches}
    blocks = {one.block for one in caches if one.kind is Kind.FULL}
    latents = any(one.is_latent for one in caches if one.kind is Kind.FULL)
    if kinds != {Kind.FULL, Kind.WINDOW} or not latents or len(blocks) != 1:
        return None
    block = blocks.pop()
    kept = tuple(
        replace(one, kind=Kind.FULL, window=0, block=block, page=one.page * block // one.block)
        if one.kind is Kind.WINDOW
        else one
        for one in caches
    )
    return kept if _alike(kept) else None


def _of_one_page_size(caches: Sequence[Cache]) -> Iterable[Group]:
    """Cut each kind of layer into groups of as many layers as the rarest kind has, so that all groups are as wide.

    Of the commonest where it has less than half as many again. The last group of a kind may be narrower.
    """
    buckets: dict[tuple[object, ...], list[Cache]] = {}
    for one in caches:
        state = one.what if one.kind is Kind.STATE else ""
        key = (one.kind, one.is_latent, one.block, one.padded_from, one.window, one.copies, one.sharded, state)
        buckets.setdefault(key, []).append(one)
    counts = [sum(one.layers for one in bucket) for bucket in buckets.values()]
    size = max(counts) if max(counts) < min(counts) * 1.5 else min(counts)
    for bucket, count in zip(buckets.values(), counts, strict=True):
        number = ceil(count / size)
        yield from (Group((replace(bucket[0], layers=len(range(at, count, number))),)) for at in range(number))


def _packed(caches: Sequence[Cache]) -> Iterable[Group]:
    """Put pages of several sizes side by side in a block.

    Kinds that repeat one pattern are cut into as many repeats a group, with as little padding as can be; states and
    windows that repeat none are cut so that they do not widen the block that the others need.
    """
    buckets: list[list[Cache]] = []
    for one in caches:
        home = next((bucket for bucket in buckets if _alike([*bucket, one])), None)
        buckets.append([one]) if home is None else home.append(one)
    sizes = [_by_page(bucket) for bucket in buckets]
    balanced = [len(set(by_page.values())) == 1 for by_page in sizes]
    least = max((max(s.values()) for s, even in zip(sizes, balanced, strict=True) if even and len(s) > 1), default=0)
    repeats = [max(s.values()) for s, even in zip(sizes, balanced, strict=True) if even]
    chunk = _least_padding(repeats, least) if least else None
    numbers = [ceil(max(s.values()) / chunk) if even and chunk else 1 for s, even in zip(sizes, balanced, strict=True)]
    free = [_is_free(bucket[0], chunk) for bucket in buckets]
    anchor = max(
        _widest(s, sum(s.values()) if is_free else number)
        for s, number, is_free in zip(sizes, numbers, free, strict=True)
    )
    for bucket, s, number, is_free in zip(buckets, sizes, numbers, free, strict=True):
        fitting = max(anchor // bucket[0].page, 1)
        yield from _cut(bucket, s, max(number, ceil(sum(s.values()) / fitting)) if is_free else number)


def _by_page(bucket: Iterable[Cache]) -> dict[int, int]:
    """Layers by bytes of their page."""
    counted: dict[int, int] = {}
    for one in bucket:
        counted[one.page] = counted.get(one.page, 0) + one.layers
    return counted


def _is_free(first: Cache, chunk: int | None) -> bool:
    return first.kind in {Kind.STATE, Kind.RING} or (chunk is None and first.kind in {Kind.WINDOW, Kind.LATENT_WINDOW})


def _widest(by_page: dict[int, int], number: int) -> int:
    return sum(ceil(layers / number) * page for page, layers in by_page.items())


def _cut(bucket: Sequence[Cache], by_page: dict[int, int], number: int) -> Iterable[Group]:
    if number == 1:
        yield Group(tuple(bucket))
        return
    for at in range(number):
        parts = [(page, len(range(at, layers, number))) for page, layers in by_page.items()]
        yield Group(tuple(replace(bucket[0], page=page, layers=layers) for page, layers in parts if layers))


def _least_padding(counts: Sequence[int], least: int) -> int:
    """The group size from `least` up that pads `counts` least when each is rounded up to it; of equals the largest."""
    sizes = range(max(least, 1), max(*counts, least) + 1)
    return min(sizes, key=lambda size: (sum(-count % size for count in counts), -size))
