"""The processes of one host: light forks of the main process, in its session, as vLLM's children are.

They do not die with it: after `kill -9` of the main process they stay as orphans, as vLLM's do (workers excepted).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from launch.standin.tasks import begin, outcome, settle

Target = Callable[[socket.socket], int]  # gets its end of the channel, returns the exit code


@dataclass(eq=False)
class Child:
    """`channel` is this side's end of a pair: the child sees its end closed when this process is gone."""

    name: str
    pid: int
    channel: socket.socket
    exit_code: int | None = None

    async def ended(self) -> int:
        """Wait for the end: the exit code, or the negative signal."""
        if self.exit_code is not None:
            return self.exit_code
        loop = asyncio.get_running_loop()
        over = outcome()
        pidfd = os.pidfd_open(self.pid)
        loop.add_reader(pidfd, settle, over)
        try:
            await over
        finally:
            loop.remove_reader(pidfd)
            os.close(pidfd)
        return self.reap()

    def reap(self) -> int:
        if self.exit_code is None:
            self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.exit_code

    def running(self) -> bool:
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self.exit_code is None

    def kill(self, number: int) -> None:
        if self.running():
            os.kill(self.pid, number)


class Children:
    """The children of this process. They are made before this process runs an event loop."""

    def __init__(self) -> None:
        self.all: list[Child] = []
        self.private: list[socket.socket] = []  # sockets that a child must not keep open

    def spawn(self, name: str, title: str, target: Target) -> Child:
        mine, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            mine.close()
            self._become(title, target, theirs)
        theirs.close()
        child = Child(name, pid, mine)
        self.all.append(child)
        self.private.append(mine)
        return child

    def _become(self, title: str, target: Target, channel: socket.socket) -> None:
        code = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            for inherited in self.private:
                inherited.close()
            set_title(title)
            code = target(channel)
        finally:
            os._exit(code)

    async def stop(self, grace: float) -> None:
        """TERM to all, `grace` seconds, KILL to those that are left."""
        for child in self.all:
            child.kill(signal.SIGTERM)
        waits = [begin(child.ended()) for child in self.all if child.running()]
        if waits:
            _, late = await asyncio.wait(waits, timeout=grace)
            for child in self.all:
                child.kill(signal.SIGKILL)
            if late:
                await asyncio.wait(late)

    def kill(self) -> None:
        """End all at once, without an event loop."""
        for child in self.all:
            child.kill(signal.SIGKILL)
            child.reap()


def set_title(title: str) -> None:
    """The short name in `ps` and `top`; the command line goes on saying that this is the stand-in."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(title[:15], encoding="utf-8")
