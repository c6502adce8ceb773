"""One framed script on its way: the text to send, what has come back, and how long we wait for it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from inventory.errors import HostUnreachable
from inventory.quoting import quote
from inventory.transport.base import Completed, Stream
from inventory.transport.framing import KILL_AFTER, Unframer, frame, new_marker

ENDED_BY_DEADLINE = frozenset({124, 137})
"""Exit statuses of `timeout -k`."""

GRACE_S = 10.0
"""Seconds beyond the host's own deadline after which this side gives up."""

STDERR_GRACE_S = 2.0
"""Seconds that the end of stderr may come after the end of stdout."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a session ended, in words; `lost`: by something else than its own program's end."""

    words: str
    lost: bool = False


DEADLINE = Ending("no answer within the deadline", lost=True)


class Exchange:
    """Feed `stdout` and `stderr` with what the host says until `done`, their ends, or `remaining()` is 0."""

    def __init__(self, script: str, *, timeout: float, sudo: bool = False, on_stdout: Stream | None = None) -> None:
        marker = new_marker()
        self.text = frame(script, marker=marker, timeout=timeout, sudo=sudo)
        self.stdout = Unframer(marker, on_stdout)
        self.stderr = Unframer(marker)
        self._started = time.monotonic()
        self._deadline = self._started + timeout + KILL_AFTER + GRACE_S
        self._answered = False

    @property
    def done(self) -> bool:
        return self.stdout.status is not None and self.stderr.status is not None

    def remaining(self) -> float:
        """Seconds left to wait, never negative; short once only the end of stderr is missing."""
        now = time.monotonic()
        if self.stdout.status is not None and not self._answered:
            self._answered = True
            self._deadline = min(self._deadline, now + STDERR_GRACE_S)
        return max(0.0, self._deadline - now)

    def completed(self, host: str, ending: Ending) -> Completed:
        """The answer; raises `HostUnreachable` when its end is missing."""
        if self.stdout.status is None:
            raise self._incomplete(host, ending)
        return Completed(
            exit_status=self.stdout.status,
            stdout=self.stdout.body,
            stderr=self.stderr.body,
            noise=self.stdout.noise,
            seconds=time.monotonic() - self._started,
        )

    def _incomplete(self, host: str, ending: Ending) -> HostUnreachable:
        said = self.stderr.body if self.stderr.begun else self.stderr.noise + self.stdout.noise
        last = said.decode("utf-8", errors="replace").strip().rpartition("\n")[2][-200:]
        observed = f"{ending.words}; last words: {last}" if last else ending.words
        if ending.lost or self.stdout.begun:
            return connection_lost(host, observed)
        return HostUnreachable(
            "the login works but does not run /bin/sh",
            id="no-shell",
            observed=observed,
            required="a login shell that runs `/bin/sh -s`, for this user",
            next_command=f"invoke hosts.list --hosts {quote(host)}",
            host=host,
        )


def in_time(completed: Completed, host: str) -> Completed:
    """The answer as it is, unless the host ended it by its deadline: what came by then is a part, and says nothing."""
    if completed.exit_status not in ENDED_BY_DEADLINE:
        return completed
    raise HostUnreachable(
        "the host did not finish its answer in time: its state is unknown",
        id="host-slow",
        observed=f"cut off by its deadline after {completed.seconds:.0f} s",
        required="an answer within the deadline",
        next_command=f"invoke probe --hosts {quote(host)}",
        host=host,
    )


def connection_lost(host: str, observed: str) -> HostUnreachable:
    return HostUnreachable(
        "the connection was lost half way: the state of the host is unknown",
        id="connection-lost",
        observed=observed,
        required="a complete answer",
        next_command=f"invoke probe --hosts {quote(host)}, then the same command again",
        host=host,
    )
