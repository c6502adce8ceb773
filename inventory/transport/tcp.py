"""TCP connections that another thread can give up."""

from __future__ import annotations

import contextlib
import socket

UNANSWERED_S = 30
"""Seconds after which data that nobody acknowledged ends a connection; the usual is a quarter of an hour."""


class Dialler:
    """Connects like `socket.create_connection`.

    `hang_up` from another thread ends the attempt, and later whatever blocks on the connection; `close` does so for
    good.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._closed = False

    def dial(self, address: str, port: int, seconds: float) -> socket.socket:
        """The first address that answers; raises the last failure (`OSError`, `socket.gaierror`)."""
        failure: OSError = OSError("the name has no address")
        for family, kind, protocol, _, where in socket.getaddrinfo(address, port, type=socket.SOCK_STREAM):
            attempt = socket.socket(family, kind, protocol)
            try:
                self._connect(attempt, where, seconds)
            except OSError as error:
                attempt.close()
                failure = error
            else:
                return attempt
        raise failure

    def _connect(self, attempt: socket.socket, where: object, seconds: float) -> None:
        self._socket = attempt
        if self._closed:
            raise ConnectionAbortedError("closed on this side")
        attempt.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNANSWERED_S * 1000)
        attempt.settimeout(seconds)
        attempt.connect(where)  # type: ignore[arg-type]  # (typeshed has no type for what getaddrinfo returns)

    def close(self) -> None:
        self._closed = True
        self.hang_up()

    def hang_up(self) -> None:
        if self._socket:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
