"""Whom to ask: the one before in the ring, and when it gives nothing, the ones before that."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import NamedTuple

PENALTY_S, MOST_S = 1.0, 20.0


class Peer(NamedTuple):
    name: str
    address: str
    port: int


class Peers:
    """The ring as the control machine wrote it: `[[name, address, port], ...]`. Read again when it was written anew.

    Each host asks the one before it: so each gives every byte once, whatever their number, and one that does not answer
    is passed over by the one behind it. A peer that failed is not asked for a while, longer each time.
    """

    def __init__(self, path: Path, me: str) -> None:
        self._path, self._me = path, me
        self._read_at = (0, 0)
        self._ring: list[Peer] = []
        self._until: dict[tuple[str, int], float] = {}
        self._failures: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()

    def refresh(self) -> bool:
        """Read the ring if it was written; returns whether there is one."""
        try:
            found = self._path.stat()
            if (found.st_mtime_ns, found.st_ino) != self._read_at:
                ring = [Peer(*one) for one in json.loads(self._path.read_text(encoding="utf-8"))]
                with self._lock:
                    self._read_at = (found.st_mtime_ns, found.st_ino)
                    self._forgive(ring)
                    self._ring = ring
        except (OSError, ValueError, TypeError):
            pass
        return bool(self._ring)

    def _forgive(self, ring: list[Peer]) -> None:
        """Who has another port was started again: what it did before does not count."""
        known = {one.name: one for one in self._ring}
        for one in ring:
            if known.get(one.name) != one:
                for key in [key for key in self._until if key[0] == one.name]:
                    del self._until[key], self._failures[key]

    def before_me(self) -> list[Peer]:
        """Everybody else, the one before this host first."""
        with self._lock:
            names = [one.name for one in self._ring]
            at = names.index(self._me) if self._me in names else len(names)
            return self._ring[:at][::-1] + self._ring[at + 1 :][::-1]

    def choose(self, file: int) -> tuple[Peer | None, float]:
        """The first peer that may be asked for `file`; without one, the seconds until one may be."""
        now, soonest = time.monotonic(), MOST_S
        for peer in self.before_me():
            wait = self._wait(peer, file, now)
            if wait <= 0:
                return peer, 0.0
            soonest = min(soonest, wait)
        return None, soonest

    def others(self, file: int, peer: Peer) -> list[Peer]:
        """Who else may be asked for `file` now."""
        now = time.monotonic()
        return [one for one in self.before_me() if one != peer and self._wait(one, file, now) <= 0]

    def _wait(self, peer: Peer, file: int, now: float) -> float:
        with self._lock:
            return max(self._until.get((peer.name, key), 0.0) for key in (-1, file)) - now

    def blame(self, peer: Peer, file: int = -1) -> None:
        """Pass over `peer`, for one file or (-1) for all, for a while."""
        with self._lock:
            key = (peer.name, file)
            times = self._failures[key] = self._failures.get(key, 0) + 1
            self._until[key] = time.monotonic() + min(MOST_S, PENALTY_S * 2 ** (times - 1))

    def praise(self, peer: Peer) -> None:
        with self._lock:
            for key in [key for key in self._until if key[0] == peer.name and key[1] == -1]:
                del self._until[key], self._failures[key]
