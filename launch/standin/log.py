"""Lines as vLLM prints them: `(EngineCore_DP1 pid=7) INFO 08-01 12:00:00 [core.py:140] message`.

File names and line numbers are those of vLLM 0.33.0 where a line is a line of vLLM.
"""

from __future__ import annotations

import contextlib
import os
import time

OWN = "standin.py:1"  # the place of lines that vLLM does not have
BANNER = "SIMULATED stand-in engine, not vLLM: no model is loaded and no token is computed"


class Fault(Exception):
    """What kills a process as vLLM would be killed: `text` is the last line of the traceback."""

    def __init__(self, text: str, place: str = OWN) -> None:
        super().__init__(text)
        self.text = text
        self.place = place


def write(descriptor: int, text: str) -> None:
    """Write all of `text` in as few calls as possible: the lines of several processes share one file.

    What cannot be written (a full disk, a reader that has gone) is lost, and the process goes on, as with `logging`.
    """
    data = text.encode()
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(descriptor, data) :]


class Log:
    """The log of one process; `process` is vLLM's name for it (APIServer, EngineCore_DP0, Worker_TP1, ...)."""

    def __init__(self, process: str) -> None:
        self.process = process

    def line(self, level: str, place: str, message: str) -> None:
        now = time.strftime("%m-%d %H:%M:%S")
        prefix = f"({self.process} pid={os.getpid()}) {level} {now} [{place}] "
        write(1, "".join(f"{prefix}{line}\n" for line in message.splitlines() or [""]))

    def says(self, place: str, message: str) -> None:
        self.line("INFO", place, message)

    def warns(self, place: str, message: str) -> None:
        self.line("WARNING", place, message)

    def banner(self) -> None:
        self.line("WARNING", OWN, BANNER)

    def fails(self, message: str, fault: Fault) -> None:
        """What `logger.exception` prints: the message, then the traceback."""
        self.line("ERROR", fault.place, f"{message}\n{traceback_of(fault.text)}")

    def access(self, client: str, request: str, status: str) -> None:
        """The access line of the HTTP server."""
        self.plain(f'{client} - "{request} HTTP/1.1" {status}')

    def plain(self, message: str) -> None:
        """A line of the HTTP server: no time, no place."""
        write(1, f"({self.process} pid={os.getpid()}) INFO:     {message}\n")

    def bare(self, text: str) -> None:
        """A line without a prefix, as libraries print it to stderr."""
        write(2, text + "\n")


def traceback_of(text: str) -> str:
    return f'Traceback (most recent call last):\n  File "{OWN.partition(":")[0]}", line 1, in simulated\n{text}'
