"""SSH by the OpenSSH client, for what paramiko cannot do: hardware keys, Kerberos, certificates, proxy commands.

One master connection per host logs in once; scripts are sessions over it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.transport import child, sshwords
from inventory.transport.exchange import Ending, Exchange, connection_lost
from inventory.transport.framed import FramedTransport
from inventory.transport.sshfailure import explain
from inventory.transport.strictconfig import strict_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inventory.sshconfig import SshOptions

LOGIN_S = 45.0
END_MASTER_S = 2.0
PERSIST_S = 600
"""Seconds without a session after which a master ends by itself, should nobody close it."""

CONTROL_PATH_LIMIT = 90
"""Bytes: ssh adds 17 while it makes the socket, whose path holds 108."""

COMMAND = "/bin/sh -s"
_SESSION = ("RequestTTY=no", "RemoteCommand=none", "ClearAllForwardings=yes", "EscapeChar=none")

# With -v only: an ssh with ControlPersist throws away what the ssh of a jump host says.
_BECOME_MASTER = ("-v", "-M", "-N", "-f", "-o", f"ControlPersist={PERSIST_S}")


class OpensshTransport(FramedTransport):
    """`route`: the jump hosts on the way, first to last, to name the one that fails."""

    def __init__(self, host: str, options: SshOptions, route: tuple[SshOptions, ...] = ()) -> None:
        super().__init__(host)
        self._options = options
        self._route = route
        self._login = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False
        self._folder: Path | None = None

    @property
    def doors(self) -> tuple[str, ...]:
        return tuple(f"{one.hostname}:{one.port}" for one in self.way)

    @property
    def way(self) -> tuple[SshOptions, ...]:
        return (*self._route, self._options)

    def open(self) -> None:
        with self._login:
            if self._closed:
                raise connection_lost(self._host, "the connection was closed on this side")
            if not _master(self._place()).exists():
                self._log_in(self._place())

    def close(self) -> None:
        self._closed = True
        for process in tuple(self._running):
            _kill(process)
        if self._folder:
            self._end_master(self._folder)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _place(self) -> Path:
        if self._folder is None:
            self._folder = _private_folder()
        return self._folder

    def _ssh(self, folder: Path, *arguments: str) -> list[str]:
        """An ssh command for this host and its master; `arguments` are options of ssh."""
        settings = (*_SESSION, f"ControlPath={_master(folder)}")
        given = [word for setting in settings for word in ("-o", setting)]
        strict = strict_arguments(folder, self._options)
        return ["ssh", "-T", *strict, *given, *arguments, "--", self._options.target]

    def _log_in(self, folder: Path) -> None:
        with tempfile.TemporaryFile() as words:  # the master would keep a pipe open
            process = subprocess.Popen(
                self._ssh(folder, *_BECOME_MASTER),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=words,
                start_new_session=True,
            )
            with self._tracked(process), contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOGIN_S)
            words.seek(0)
            said = sshwords.without_debug(words.read().decode("utf-8", errors="replace"))
        if process.returncode != 0:
            late = f"timed out: no login within {LOGIN_S:g} s" if process.returncode < 0 else ""
            raise explain(said or late, self._host, self._options, self._route)

    def _converse(self, exchange: Exchange) -> Ending:
        folder = self._place()
        process = child.start([*self._ssh(folder, "-o", "ControlMaster=no"), COMMAND])
        with self._tracked(process):
            ending = child.converse(process, exchange)
        if process.returncode == 255 and not exchange.done:
            if not exchange.stdout.begun:
                said = exchange.stderr.noise.decode("utf-8", errors="replace")
                raise explain(said, self._host, self._options, self._route)
            ending = Ending("the connection broke", lost=True)
        if ending.lost:
            self._end_master(folder)
        return ending

    def _pour(self, command: str, pieces: Iterable[bytes], *, deadline_s: float) -> None:
        process = child.start([*self._ssh(self._place(), "-o", "ControlMaster=no"), command])
        try:
            with self._tracked(process):
                child.pour(process, pieces, deadline_s=deadline_s)
        except OSError as error:
            raise connection_lost(self._host, f"a stream of data was cut off: {error}") from None
        finally:
            child.close(process)

    @contextlib.contextmanager
    def _tracked(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Let `close` find the process; it does not outlive the block."""
        self._running.add(process)
        try:
            yield
        finally:
            _kill(process)
            self._running.discard(process)

    def _end_master(self, folder: Path) -> None:
        if _master(folder).exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    self._ssh(folder, "-O", "exit"),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=END_MASTER_S,
                    check=False,
                )
            _master(folder).unlink(missing_ok=True)


def _master(folder: Path) -> Path:
    return folder / "master"


def _private_folder() -> Path:
    """A folder for the socket of the master, for this user only, with a path that is short enough."""
    for base in (None, "/tmp"):  # noqa: S108  (mkdtemp makes the folder private)
        folder = Path(tempfile.mkdtemp(prefix="bringup-", dir=base))
        if len(os.fsencode(_master(folder))) <= CONTROL_PATH_LIMIT:
            break
        folder.rmdir()
    return folder


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has not ended, and the proxies that it started for jump hosts."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
