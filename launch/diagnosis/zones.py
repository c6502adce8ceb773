"""How far a host is from UTC, where the journal tells a zone and the engine does not. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launch.diagnosis import clock
from launch.diagnosis.clock import Clock
from launch.diagnosis.lines import COLOUR

LOOKED_AT = 400
"""Lines at each end of a text."""


def offsets(texts: Mapping[str, Sequence[str]], near: float | None) -> dict[str, float]:
    """Seconds by host; a host that tells nothing has what all others that do agree on, else 0."""
    told = {host: offset_of(own, near) for host, own in texts.items()}
    known = {one for one in told.values() if one is not None}
    usual = known.pop() if len(known) == 1 else 0.0
    return {host: usual if one is None else one for host, one in told.items()}


def offset_of(texts: Sequence[str], near: float | None) -> float | None:
    """Seconds of the host's lines without a zone; None where nothing tells it.

    A container has UTC on a host that has not: the zone counts where the end of the bare lines then meets others.
    """
    zoned: dict[float, float] = {}  # moments with the zone that they were written in
    bare: list[float] = []
    here = Clock(near)
    for line in (one for text in texts for one in _ends(text)):
        match = clock.search(COLOUR.sub("", line))
        at = here.moment(match) if match else None
        if match is None or at is None:
            continue
        if zone := match.groupdict().get("zone"):
            zoned[at] = clock.seconds_of(zone)
        else:
            bare.append(at)
    offsets = set(zoned.values())
    if len(offsets) != 1 or not bare:
        return None
    (offset,) = offsets
    last = max(bare)
    return offset if _apart(zoned, last - offset) < _apart(zoned, last) else 0.0


def _ends(text: str) -> list[str]:
    lines = text.splitlines()
    return lines if len(lines) <= 2 * LOOKED_AT else [*lines[:LOOKED_AT], *lines[-LOOKED_AT:]]


def _apart(moments: dict[float, float], at: float) -> float:
    return min(abs(at - one) for one in moments)
