"""stdout and stderr of a verb: where nobody reads any more, or a disk is full, the verb goes on and is not cut short.

Otherwise `invoke deploy 2>&1 | head` would leave half a gang, and Ctrl-C in `| tee` no lock given back: what is said
meanwhile must not end what is done.
"""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO, cast


class Outlet:
    """A stream that takes everything. `lost`: why it could not be written; what comes afterwards is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that has not every letter

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if self.lost is None:
            try:
                return self._stream.write(text)
            except OSError as error:
                self._drop(error)
        return len(text)

    def writelines(self, lines: Any) -> None:  # noqa: ANN401
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self.lost is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._drop(error)

    def _drop(self, error: OSError) -> None:
        """Also what is still buffered: the interpreter would complain of it when it ends."""
        self.lost = error
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def opened() -> tuple[Outlet, Outlet]:
    """Put outlets in the place of stdout and stderr, also of those that were closed: `>&-`."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    for name in ("stdout", "stderr"):
        setattr(sys, name, Outlet(getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")))  # noqa: SIM115, PTH123
    return cast("tuple[Outlet, Outlet]", (sys.stdout, sys.stderr))


def has_reader() -> bool:
    """Whether somebody may still read stdout: what goes on until it is ended asks."""
    return getattr(sys.stdout, "lost", None) is None
