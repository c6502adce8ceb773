"""This machine as a host: the same framed scripts, given to a `/bin/sh` that we start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.transport import child
from inventory.transport.exchange import connection_lost
from inventory.transport.framed import FramedTransport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.transport.exchange import Ending, Exchange


class LocalTransport(FramedTransport):
    def __init__(self, host: str) -> None:
        super().__init__(host)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def open(self) -> None:
        """Nothing to log in to."""

    def close(self) -> None:
        with self._lock:
            running = tuple(self._running)
        for process in running:
            _kill_session(process.pid)

    def _converse(self, exchange: Exchange) -> Ending:
        process = child.start(["/bin/sh", "-s"])
        with self._lock:
            self._running.add(process)
        try:
            return child.converse(process, exchange)
        finally:
            if not exchange.done:
                _kill_session(process.pid)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(child.EXIT_WAIT_S)
            with self._lock:
                self._running.discard(process)

    def _pour(self, command: str, pieces: Iterable[bytes], *, deadline_s: float) -> None:
        process = child.start(["/bin/sh", "-c", command])
        with self._lock:
            self._running.add(process)
        try:
            child.pour(process, pieces, deadline_s=deadline_s)
        except OSError as error:
            raise connection_lost(self._host, f"a stream of data was cut off: {error}") from None
        finally:
            _kill_session(process.pid)
            process.wait()
            child.close(process)
            with self._lock:
                self._running.discard(process)


LOOKS = 100
"""A process that waits for a disk or a driver dies later: it is not waited for."""


def _kill_session(leader: int) -> None:
    """Kill all that still belongs to a session that we started; what made a session of its own lives on.

    Again until a look finds none: what was started while the last look went on is in no list of it.
    """
    for _ in range(LOOKS):
        if not sum(_killed(entry, leader) for entry in Path("/proc").glob("[0-9]*/stat")):
            return
        time.sleep(0.01)


def _killed(entry: Path, leader: int) -> bool:
    with contextlib.suppress(OSError):  # it has ended meanwhile, or sudo made it somebody else's
        state, session = _state_and_session_of(entry.read_text(errors="replace"))
        if session == leader and state not in {"Z", "X"}:
            os.kill(int(entry.parent.name), signal.SIGKILL)
            return True
    return False


def _state_and_session_of(stat: str) -> tuple[str, int]:
    """Fields 3 and 6 of /proc/PID/stat, counted behind the name, which may hold spaces and parentheses."""
    fields = stat.rpartition(")")[2].split()
    return fields[0], int(fields[3])
