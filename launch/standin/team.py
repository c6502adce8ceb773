"""An engine's workers: it waits until all have loaded, and dies when one of them does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from launch.standin.failures import Phase, Process
from launch.standin.host import Host
from launch.standin.loading import load
from launch.standin.log import Fault, Log
from launch.standin.processes import Child, Children
from launch.standin.tasks import begin
from launch.standin.wire import LIMIT, Link


@dataclass
class Team:
    """Without worker processes (`uni` executor) the engine does their work itself. `fail` ends the engine."""

    host: Host
    rank: int
    log: Log
    children: Children
    fail: Callable[[Fault], None]
    links: list[Link] = field(default_factory=list)
    watches: list[asyncio.Task[None]] = field(default_factory=list)

    async def load(self) -> None:
        """Raises `Fault`."""
        if not self.children.all:
            await load(self.host, self.log, self.rank, first=True)
            return
        for child in self.children.all:
            self.links.append(Link(*await asyncio.open_connection(sock=child.channel, limit=LIMIT)))
            await self.links[-1].send({"load": True})
        for link in self.links:
            if await link.receive() is None:
                raise Fault(
                    "Exception: WorkerProc initialization failed due to an exception in a background process. "
                    "See stack trace for root cause.",
                    "multiproc_executor.py:908",
                )
        self.watches += [begin(self.watch(*one)) for one in enumerate(self.children.all)]

    async def watch(self, index: int, child: Child) -> None:
        code = await child.ended()
        self.log.line(
            "ERROR",
            "multiproc_executor.py:380",
            f"Worker proc VllmWorker-{index} died unexpectedly (exit code: {code}), shutting down executor.",
        )
        self.fail(Fault("RuntimeError: Executor failed.", "multiproc_executor.py:464"))

    async def meet(self, phase: Phase) -> None:
        """Let a worker meet what is injected into it. Does not return where that ends the worker."""
        if not any(self.host.failures.due(Process.WORKER, phase, (self.rank,))):
            return
        if not self.links:
            await self.host.failures.strike(Process.WORKER, phase, (self.rank,), self.log)
            return
        await self.links[0].send({"phase": phase})
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """Close the death pipes: the workers end."""
        for watch in self.watches:
            watch.cancel()
        for link in self.links:
            link.close()
        await self.children.stop(1)
