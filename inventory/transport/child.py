"""A framed script through a child process: the part that `local` and `openssh` share."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from typing import IO, TYPE_CHECKING

from inventory.transport.exchange import DEADLINE, Ending, Exchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CHUNK = 65536
POLL_S = 0.2
EXIT_WAIT_S = 0.5
STALLED_S = 60.0
"""Seconds after which a stream that takes nothing is given up."""


def start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start `argv` with three pipes, in a session of its own: Ctrl-C in our terminal does not reach it."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )


def converse(process: subprocess.Popen[bytes], exchange: Exchange) -> Ending:
    """Send the exchange's text and feed it the answer; tell how the session ended.

    Ends with the answer, not with the streams: a process that keeps our stdout open does not hold us.
    """
    pipes = _Pipes(process, exchange)
    try:
        while not exchange.done and pipes.open:
            if not exchange.remaining():
                return DEADLINE
            pipes.turn(min(POLL_S, exchange.remaining()))
    finally:
        pipes.close()
    return Ending("complete") if exchange.done else _ending(process)


def pour(process: subprocess.Popen[bytes], pieces: Iterable[bytes], *, deadline_s: float) -> None:
    """Write `pieces` to the stdin of `process` and await its end. Raises `TimeoutError` or `OSError`."""
    until = time.monotonic() + deadline_s
    assert process.stdin  # noqa: S101  (`start` made it)
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                if not selector.select(min(STALLED_S, max(0.0, until - time.monotonic()))):
                    raise TimeoutError("nothing was taken any more")
                rest = rest[os.write(process.stdin.fileno(), rest) :]
    process.stdin.close()
    try:
        process.wait(max(1.0, min(STALLED_S, until - time.monotonic())))
    except subprocess.TimeoutExpired:
        raise TimeoutError("the end of the stream was not answered") from None


def close(process: subprocess.Popen[bytes]) -> None:
    """Close our ends of its pipes."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _ending(process: subprocess.Popen[bytes]) -> Ending:
    try:
        status = process.wait(EXIT_WAIT_S)
    except subprocess.TimeoutExpired:
        return Ending("the session closed its output")
    if status < 0:
        return Ending(f"the session was killed by signal {-status}", lost=True)
    return Ending(f"the session ended with exit status {status}")


class _Pipes:
    """The three pipes of a process in one selector, none of which can block."""

    def __init__(self, process: subprocess.Popen[bytes], exchange: Exchange) -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018  (`start` made them)
        self._stdin = process.stdin
        self._unsent = memoryview(exchange.text)
        self._selector = selectors.DefaultSelector()
        self._add(process.stdin, selectors.EVENT_WRITE, None)
        self._add(process.stdout, selectors.EVENT_READ, exchange.stdout)
        self._add(process.stderr, selectors.EVENT_READ, exchange.stderr)
        self._all = (process.stdin, process.stdout, process.stderr)

    @property
    def open(self) -> bool:
        """Whether anything may still be read."""
        return any(key.events == selectors.EVENT_READ for key in self._selector.get_map().values())

    def _add(self, pipe: IO[bytes], events: int, sink: object) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, events, sink)

    def turn(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._stdin:
                self._send()
            elif chunk := os.read(key.fd, CHUNK):
                key.data.feed(chunk)
            else:
                self._selector.unregister(key.fileobj)

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent[:CHUNK]) :]
        except BrokenPipeError:
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self._selector.unregister(self._stdin)
            self._stdin.close()

    def close(self) -> None:
        self._selector.close()
        for pipe in self._all:
            pipe.close()
