"""A drawn tree. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    text: str
    twigs: tuple[Branch, ...] = ()


def draw(branch: Branch) -> Iterator[str]:
    """The lines of a tree, its root first."""
    yield branch.text
    yield from _below(branch.twigs, "")


def _below(twigs: Sequence[Branch], indent: str) -> Iterator[str]:
    for at, twig in enumerate(twigs, 1):
        last = at == len(twigs)
        yield f"{indent}{'└─' if last else '├─'} {twig.text}"
        yield from _below(twig.twigs, indent + ("   " if last else "│  "))
