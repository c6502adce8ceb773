"""Which GPUs of a host a rank may use, and which of them belong together. Pure."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from inventory.facts.host import NEAREST_FIRST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inventory.facts.host import Gpu, Gpus, Link

WELL = frozenset({None, "", "None", "N/A"})
"""Recovery actions that ask for nothing."""

_ACROSS_PCIE = (*NEAREST_FIRST, "SYS", "PCIe")
_UNTOLD = len(_ACROSS_PCIE) + 2
_MOST = 16  # GPUs of a host that are tried in all combinations


def unusable(gpu: Gpu) -> str:
    """Why no rank may have this GPU; empty when one may."""
    if gpu.mig_enabled:
        return "MIG: a rank would get a slice of it or nothing"
    if gpu.health.remap_failure:
        return "broken: rows of its memory could not be remapped"
    if gpu.health.recovery_action not in WELL:
        return f"broken: its driver asks for {gpu.health.recovery_action}"
    return ""


def usable(gpus: Gpus) -> tuple[Gpu, ...]:
    return tuple(gpu for gpu in gpus.devices if not unusable(gpu))


def distance(kind: str | None) -> int:
    """How far a link goes, in the vendor's word: 0 is the fabric of the vendor, NVLink or XGMI."""
    if kind is None:
        return _UNTOLD
    if kind.startswith(("NV", "XGMI")):
        return 0
    return 1 + _ACROSS_PCIE.index(kind) if kind in _ACROSS_PCIE else _UNTOLD


def teams(devices: Sequence[Gpu], links: Sequence[Link], width: int, count: int) -> tuple[tuple[Gpu, ...], ...]:
    """`count` teams of `width` GPUs for as many ranks, so that the worst link within a team is as good as can be.

    In the order of their indices, and neighbours together where links do not matter or nothing tells of them. Empty
    when there are too few.
    """
    if width * count > len(devices):
        return ()
    plain = tuple(tuple(devices[at * width : (at + 1) * width]) for at in range(count))
    far = {(one.gpu, one.to): distance(one.kind) for one in links if isinstance(one.to, int)}
    if width == 1 or width == len(devices) or len(devices) > _MOST or not far:
        return plain
    for most in sorted({*far.values(), _UNTOLD}):
        if worst(plain, far) <= most:
            return plain
        found = _partition(tuple(devices), far, width, count, most)
        if found:
            return found
    return plain


def worst(groups: Sequence[Sequence[Gpu]], far: Mapping[tuple[int, int], int]) -> int:
    """The longest distance between two GPUs of one team."""
    return max((_between(a, b, far) for team in groups for a, b in combinations(team, 2)), default=0)


def _between(a: Gpu, b: Gpu, far: Mapping[tuple[int, int], int]) -> int:
    return far.get((min(a.index, b.index), max(a.index, b.index)), _UNTOLD)


def _partition(
    left: tuple[Gpu, ...], far: Mapping[tuple[int, int], int], width: int, count: int, most: int
) -> tuple[tuple[Gpu, ...], ...]:
    """Teams whose links are not longer than `most`; GPUs may be left over."""
    if count == 0:
        return ()
    if len(left) < width * count:
        return ()
    first, rest = left[0], left[1:]
    near = [gpu for gpu in rest if _between(first, gpu, far) <= most]
    for others in combinations(near, width - 1):
        team = (first, *others)
        if worst([team], far) > most:
            continue
        remaining = tuple(gpu for gpu in rest if gpu not in others)
        more = _partition(remaining, far, width, count - 1, most)
        if more or count == 1:
            return (team, *more)
    return _partition(rest, far, width, count, most)
