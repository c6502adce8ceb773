"""Sizes and counts as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(number: float) -> str:
    """`957 GiB`, `27.1 TiB`: one decimal from a TiB up."""
    step = 0
    while number >= 1024 and step < len(UNITS) - 1:
        number, step = number / 1024, step + 1
    return f"{number:.1f} {UNITS[step]}" if step > 3 else f"{number:.0f} {UNITS[step]}"


def counted(things: Iterable[str]) -> str:
    """`4x this, 2x that` in the order of appearance."""
    every: Sequence[str] = list(things)
    return ", ".join(f"{every.count(one)}x {one}" for one in dict.fromkeys(every))
