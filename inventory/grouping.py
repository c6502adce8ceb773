"""Groups of hosts: who is in them, and whose word counts when several speak of one host."""

from __future__ import annotations

import graphlib
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

Children: TypeAlias = "Mapping[str, Collection[str]]"
"""Each group, in the order of the file, with the groups inside it; every group inside is a key itself."""


def circle(children: Children) -> tuple[str, ...]:
    """Groups that contain themselves, from one round to the same again; empty when there are none."""
    try:
        _inner_first(children)
    except graphlib.CycleError as error:
        return tuple(reversed(error.args[1]))
    return ()


def members(children: Children, own: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """All hosts in and below each group, its own first."""
    found: dict[str, tuple[str, ...]] = {}
    for group in _inner_first(children):
        below = [host for child in children[group] for host in found[child]]
        found[group] = tuple(dict.fromkeys((*own[group], *below)))
    return {group: found[group] for group in children}


def above(children: Children) -> dict[str, frozenset[str]]:
    """All groups around each group, near and far."""
    found: dict[str, frozenset[str]] = dict.fromkeys(children, frozenset())
    for group in reversed(_inner_first(children)):
        for child in children[group]:
            found[child] |= {group, *found[group]}
    return found


def depths(children: Children) -> dict[str, int]:
    """How far each group is from the outermost one around it, by the longest way."""
    found = dict.fromkeys(children, 0)
    for group in reversed(_inner_first(children)):
        for child in children[group]:
            found[child] = max(found[child], found[group] + 1)
    return found


def contradictions(
    speaking: Iterable[tuple[str, Mapping[str, object]]], around: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, str, str]]:
    """(setting, group, later group) where two groups say different things and neither is inside the other.

    `speaking`: the groups of one host with what they say, those that count more later; `around`: as of `above`.
    """
    heard: list[tuple[str, Mapping[str, object]]] = []
    for later, says in speaking:
        for group, said in heard:
            if group not in around[later]:
                yield from ((key, group, later) for key in said if key in says and said[key] != says[key])
        heard.append((later, says))


def _inner_first(children: Children) -> tuple[str, ...]:
    return tuple(graphlib.TopologicalSorter(children).static_order())
