"""The memory of one GPU of a plan as text: a bar to scale, and what its signs mean. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.plans.document import MemoryPart

WIDTH = 24
SIGNS: Mapping[str, str] = {"weights": "#", "activations": "+", "graphs": "%", "kv": "=", "state": "-", "outside": "."}
"""As `invoke memory` draws them; `outside`: what vLLM does not let itself use."""
OTHER, OVER = "?", "!"


def bar(parts: Sequence[MemoryPart], whole: int | None) -> str:
    """`parts` to scale in a GPU of `whole` bytes, which may be larger than the one that they are of.

    What goes over the edge is cut and marked.
    """
    whole = max(whole or sum(part.bytes for part in parts), 1)
    drawn, filled = "", 0
    for part in parts:
        filled += part.bytes
        drawn += SIGNS.get(part.name, OTHER) * (round(filled * WIDTH / whole) - len(drawn))
    return drawn.ljust(WIDTH, SIGNS["outside"]) if filled <= whole else f"{drawn[: WIDTH - 1]}{OVER}"


def legend(parts: Sequence[MemoryPart]) -> str:
    return ", ".join(f"{SIGNS.get(part.name, OTHER)} {part.name} {gb(part.bytes)}" for part in parts)


def gb(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 1e9:,.1f} GB"
