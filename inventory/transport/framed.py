"""What all real transports share: framed scripts, and files by framed scripts."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from inventory.quoting import quote
from inventory.transport import filescripts
from inventory.transport.exchange import Ending, Exchange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.sshconfig import SshOptions
    from inventory.transport.base import Completed, Stream

_APPEND = 'umask 077; exec cat >>"$0"'
_log = logging.getLogger("bringup.transport")


class FramedTransport(ABC):
    """A `Transport` that only has to carry the text of an `Exchange` to `/bin/sh -s` and the answer back."""

    def __init__(self, host: str) -> None:
        self._host = host
        self.dropped_logins = 0  # that a server ended before they began

    @property
    def host(self) -> str:
        return self._host

    @property
    def doors(self) -> tuple[str, ...]:
        """The servers that a login goes through, each as `address:port`: they drop too many at once."""
        return ()

    @property
    def way(self) -> tuple[SshOptions, ...]:
        """How ssh goes, jump hosts first and the host itself last; empty without ssh."""
        return ()

    @abstractmethod
    def open(self) -> None:
        """Log in; raises `HostUnreachable`. Does nothing when the connection is there."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, from any thread; what runs over it ends with `HostUnreachable`."""

    @abstractmethod
    def _converse(self, exchange: Exchange) -> Ending:
        """Carry `exchange` until it is done, the session ends or its time is up; tell how it ended."""

    @abstractmethod
    def _pour(self, command: str, pieces: Iterable[bytes], *, deadline_s: float) -> None:
        """Run `command` by the login shell with `pieces` as its stdin; raises `HostUnreachable` when it is cut off."""

    def append(self, pieces: Iterable[bytes], path: str, *, deadline_s: float) -> None:
        """Not by a framed script: /bin/sh reads those byte by byte."""
        self.open()
        self._pour(f"exec /bin/sh -c {quote(_APPEND)} {quote(path)}", pieces, deadline_s=deadline_s)

    def run(self, script: str, *, timeout: float, sudo: bool = False, on_stdout: Stream | None = None) -> Completed:
        self.open()
        exchange = Exchange(script, timeout=timeout, sudo=sudo, on_stdout=on_stdout)
        completed = exchange.completed(self._host, self._converse(exchange))
        if exchange.stdout.keeper == "watchdog":
            _log.info("%s has no coreutils timeout: a shell watchdog keeps the deadlines", self._host)
        return completed

    def put(self, data: bytes, path: str, *, mode: int = 0o600) -> None:
        temporary = ""
        for script in filescripts.put_scripts(data, path, mode=mode):
            completed = self.run(f"temporary={quote(temporary)}\n{script}", timeout=filescripts.CHUNK_DEADLINE_S)
            if completed.exit_status != 0:
                raise filescripts.put_failed(self._host, path, completed)
            temporary = completed.text.strip()

    def get(self, path: str) -> bytes:
        completed = self.run(filescripts.get_script(path), timeout=filescripts.CHUNK_DEADLINE_S)
        if completed.exit_status != 0:
            raise filescripts.get_failed(self._host, path, completed)
        return completed.stdout
