"""A host whose link is slow and not broken holds up all behind it in the ring: it is found and put last. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

WINDOW_S = 15.0
LEAD = 256 << 20  # bytes that the host before it is ahead: what is on its way is no sign of anything
SLOW = 1 / 3  # of the fastest host's rate

Look = Mapping[str, int]  # bytes that each host has verified


@dataclass(slots=True)
class Laggards:
    """What was seen within the last seconds. A host is found once: last in the ring, it holds up nobody."""

    looks: list[tuple[float, Look]] = field(default_factory=list)
    found: set[str] = field(default_factory=set)

    def look(self, now: float, verified: Look, ring: Sequence[str]) -> str | None:
        """The host of `ring` that must go to its end; None: nobody, or too little was seen yet."""
        self.looks = [one for one in self.looks if now - one[0] <= WINDOW_S] + [(now, verified)]
        began, before = self.looks[0]
        if now - began < WINDOW_S / 2:
            return None
        gained = {host: verified.get(host, 0) - before.get(host, 0) for host in ring}
        fastest = max(gained.values(), default=0)
        for upper, host in itertools.pairwise(ring[:-1]):
            lead = verified.get(upper, 0) - verified.get(host, 0)
            if lead > LEAD and gained[host] < SLOW * fastest and host not in self.found:
                self.found.add(host)
                self.looks = []
                return host
        return None
