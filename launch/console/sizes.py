"""Sizes and counts as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from inventory.facts.cpulist import format_list

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(number: float) -> str:
    """`957 GiB`, `27.1 TiB`: one decimal from a TiB up."""
    step = 0
    while number >= 1024 and step < len(UNITS) - 1:
        number, step = number / 1024, step + 1
    return f"{number:.1f} {UNITS[step]}" if step > 3 else f"{number:.0f} {UNITS[step]}"


def cpu_set(cpus: tuple[int, ...]) -> str:
    """A list as the kernel writes it, `0-3,8`; one CPU in every few as `0-222:2`."""
    steps = {b - a for a, b in pairwise(cpus)}
    if len(cpus) > 2 and len(steps) == 1 and (step := steps.pop()) > 1:
        return f"{cpus[0]}-{cpus[-1]}:{step}"
    return format_list(cpus)


def counted(things: Iterable[str]) -> str:
    """`4x this, 2x that` in the order of appearance."""
    every: Sequence[str] = list(things)
    return ", ".join(f"{every.count(one)}x {one}" for one in dict.fromkeys(every))
