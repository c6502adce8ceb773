"""Bytes a second, over all connections of one host together."""

from __future__ import annotations

import threading
import time

SLICE_S = 0.1
LEAST, MOST = 16 << 10, 1 << 20


class Pace:
    """`rate` None: as fast as it goes. What is taken at once is never more than `slice` bytes."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self.slice = MOST << 2 if rate is None else int(min(MOST, max(LEAST, rate * SLICE_S)))
        self._free_at = 0.0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Wait until `size` bytes may go."""
        if self._rate is None:
            return
        with self._lock:
            now = time.monotonic()
            begin = max(now, self._free_at)
            self._free_at = begin + size / self._rate
        time.sleep(max(0.0, begin - now))
