"""Releases in order: `0.28.0` before `0.33.0`, whatever follows the numbers."""

from __future__ import annotations

import re


def release(text: str) -> tuple[int, ...] | None:
    """The numbers of a version, `v0.28.0rc1` as (0, 28, 0); None for text that has none."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text.strip())
    return tuple(map(int, found[1].split("."))) if found else None


def before(one: str, other: str) -> bool:
    """Whether `one` is an earlier release than `other`; False where either cannot be told."""
    first, second = release(one), release(other)
    if first is None or second is None:
        return False
    width = max(len(first), len(second))
    return first + (0,) * (width - len(first)) < second + (0,) * (width - len(second))
