"""SSH whose first script is a plain session of the OpenSSH client, and whose later ones go the usual way.

Most questions to a host are one script. A client for it takes less of this machine's processor than the import of
paramiko and its key exchange in Python do, and clients of several hosts run at once. Who asks again, or hands over
files, logs in by the usual transport, once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

from inventory.errors import HostUnreachable
from inventory.transport import child
from inventory.transport.exchange import Ending, Exchange, connection_lost
from inventory.transport.framed import FramedTransport
from inventory.transport.strictconfig import strict_options

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable

    from inventory.sshconfig import SshOptions

COMMAND = "/bin/sh -s"
RETRIES = 3
RETRY_S = 0.7
_OF_ITS_OWN = (
    *("RequestTTY=no", "RemoteCommand=none", "ClearAllForwardings=yes", "EscapeChar=none"),
    *("ControlMaster=no", "ControlPath=none"),
)
_CHEAP = "curve25519-sha256"


class ClientFirst(FramedTransport):
    """For a host that is reached without jump hosts. `usual` makes the transport of all that comes later."""

    def __init__(self, host: str, options: SshOptions, usual: Callable[[], FramedTransport]) -> None:
        super().__init__(host)
        self._options = options
        self._make = usual
        self._usual: FramedTransport | None = None
        self._lock = threading.Lock()
        self._asked = False
        self._closed = False
        self._client: subprocess.Popen[bytes] | None = None

    @property
    def doors(self) -> tuple[str, ...]:
        return (f"{self._options.hostname}:{self._options.port}",)

    @property
    def way(self) -> tuple[SshOptions, ...]:
        return (self._options,)

    def open(self) -> None:
        """The first script logs in by itself."""
        if self._closed:
            raise connection_lost(self._host, "the connection was closed on this side")
        if self._asked:
            self._later().open()

    def close(self) -> None:
        self._closed = True
        client, usual = self._client, self._usual
        if client is not None:
            _kill(client)
        if usual is not None:
            usual.close()

    def _later(self) -> FramedTransport:
        with self._lock:
            if self._usual is None:
                self._usual = self._make()
            return self._usual

    def _converse(self, exchange: Exchange) -> Ending:
        with self._lock:
            first, self._asked = not self._asked, True
        if not first:
            return self._later()._converse(exchange)  # noqa: SLF001  (of its own kind)
        client = child.start([*self._ssh(), COMMAND])
        self._client = client
        try:
            ending = child.converse(client, exchange)
        finally:
            _kill(client)
        if client.returncode == 255 and not exchange.done:
            if exchange.stdout.begun:
                return Ending("the connection broke", lost=True)
            return self._dropped(exchange)
        return ending

    def _dropped(self, exchange: Exchange) -> Ending:
        """A login that did not come about: one that sshd dropped before it began is tried again the usual way."""
        from inventory.transport.sshfailure import explain

        said = exchange.stderr.noise.decode("utf-8", errors="replace")
        error = explain(said, self._host, self._options)
        for retry in range(RETRIES):
            if error.id != "banner" or self._closed:
                break
            self.dropped_logins += 1
            time.sleep(RETRY_S * 2**retry)
            try:
                self._later().open()
            except HostUnreachable as again:
                error = again
            else:
                return self._later()._converse(exchange)  # noqa: SLF001  (of its own kind)
        raise error

    def _ssh(self) -> list[str]:
        options = self._options
        own = (word for setting in (*_OF_ITS_OWN, *_exchange_first(options)) for word in ("-o", setting))
        return ["ssh", "-T", *strict_options(options), *own, *options.arguments, "--", options.target]

    def _pour(self, command: str, pieces: Iterable[bytes], *, deadline_s: float) -> None:
        self._asked = True
        self._later().open()
        self._later()._pour(command, pieces, deadline_s=deadline_s)  # noqa: SLF001  (of its own kind)


def _exchange_first(options: SshOptions) -> tuple[str, ...]:
    """Of the key exchanges that ssh would offer, the one that paramiko takes comes first.

    paramiko has none of the hybrid ones that OpenSSH prefers, and in some builds they take seven times the processor
    time (measured: a login 0.15 s with one, 0.02 s without).
    """
    offered = options.key_exchanges
    if _CHEAP not in offered:
        return ()
    return (f"KexAlgorithms={','.join((_CHEAP, *(one for one in offered if one != _CHEAP)))}",)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
