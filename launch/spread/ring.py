"""In which order hosts stand around the ring: each fetches from the one before it. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def ring_of(sources: Sequence[str], targets: Sequence[str]) -> tuple[str, ...]:
    """Sources with equal shares of the targets behind each; hosts that are both count as sources.

    Neighbours in the inventory stay neighbours here: where it goes rack by rack, few bytes cross between racks.
    """
    rest = [host for host in targets if host not in sources]
    share, more = divmod(len(rest), len(sources) or 1)
    ring: list[str] = []
    at = 0
    for number, source in enumerate(sources):
        end = at + share + (number < more)
        ring += [source, *rest[at:end]]
        at = end
    return (*ring, *rest[at:])
