"""What a transport is: one host, scripts in, framed answers out.

Three implementations (`ssh`, `openssh`, `local`) and a fourth for saved answers (`replay`) satisfy `Transport`.
All run the same framed text (`framing.py`), so login noise, lost connections and exit codes mean the same on all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

Stream = Callable[[bytes], None]
"""Called with each piece of a script's stdout as it arrives, login noise left out."""


@dataclass(frozen=True, slots=True)
class Completed:
    """One script that ran to its end. `seconds` is wall time on the control machine."""

    exit_status: int
    stdout: bytes
    stderr: bytes
    noise: bytes
    seconds: float

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", errors="replace")


class Transport(Protocol):
    """A host that runs POSIX shell scripts.

    Every method raises `HostUnreachable` when the host cannot be reached or the connection is lost half way: the
    state of what was asked is then unknown. A script's own failure is an `exit_status`, never an exception.
    """

    @property
    def host(self) -> str:
        """The inventory name of the host."""

    def run(self, script: str, *, timeout: float, sudo: bool = False, on_stdout: Stream | None = None) -> Completed:
        """Run `script` with /bin/sh, stdin closed.

        `timeout` seconds are enforced on the host by `timeout -k` (exit status 124 or 137) and, a little later, on
        the control machine (`HostUnreachable`). `sudo` runs it by `sudo -n`: never asks for a password.
        """

    def put(self, data: bytes, path: str, *, mode: int = 0o600) -> None:
        """Write `data` to the absolute `path` by a temporary file and rename; the folder must exist."""

    def append(self, pieces: Iterable[bytes], path: str, *, deadline_s: float) -> None:
        """Add `pieces` to the end of the absolute `path` as a stream, which is what large files take.

        Nothing is verified here: whoever sends them asks afterwards how much came, and for its sum.
        """

    def get(self, path: str) -> bytes:
        """Read the absolute `path`; a missing file raises `FileNotFoundError`."""

    def close(self) -> None:
        """Close the connection; may be called twice."""
