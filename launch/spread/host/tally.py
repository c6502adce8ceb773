"""What this host has done so far, for whoever asks: bytes from and to each peer, bad pieces, and how it ends."""

from __future__ import annotations

import threading
import time
from typing import Any

MOST_BAD = 50


class Tally:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.received: dict[str, int] = {}
        self.sent: dict[str, int] = {}
        self.bad: list[dict[str, Any]] = []
        self.trouble: dict[str, str] = {}
        self.kept = 0  # bytes that lay here and were right
        self.failed: dict[str, str] | None = None
        self.moved_at = time.monotonic()  # when something last came forward

    def came(self, peer: str, size: int) -> None:
        with self._lock:
            self.received[peer] = self.received.get(peer, 0) + size
        self.moved()

    def went(self, peer: str, size: int) -> None:
        with self._lock:
            self.sent[peer] = self.sent.get(peer, 0) + size

    def was_here(self, size: int) -> None:
        with self._lock:
            self.kept += size
        self.moved()

    def moved(self) -> None:
        self.moved_at = time.monotonic()

    def gave_bad(self, peer: str, path: str, piece: int) -> None:
        """A piece that did not have the sum that came with it."""
        with self._lock:
            if len(self.bad) < MOST_BAD:
                self.bad.append({"peer": peer, "path": path, "piece": piece})

    def fail(self, id: str, observed: str) -> None:  # noqa: A002  (the word that operators use)
        """The first reason counts."""
        with self._lock:
            self.failed = self.failed or {"id": id, "observed": observed}

    def told(self) -> dict[str, Any]:
        with self._lock:
            return {
                "received": dict(self.received),
                "sent": dict(self.sent),
                "bad": list(self.bad),
                "trouble": dict(self.trouble),
                "kept": self.kept,
                "failed": self.failed,
                "cpu_s": round(time.process_time(), 2),
            }
