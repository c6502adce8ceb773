"""An engine's workers: it waits until all have loaded, and dies when one of them does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from launch.standin.failures import Phase, Process
from launch.standin.host import Host
from launch.standin.loading import Loading, kv_line
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
            local_rank = self.rank - self.host.layout.start
            await Loading(self.host, self.log, self.rank, local_rank, True, self.profiled).run()  # noqa: FBT003
            return
        for child in self.children.all:
            self.links.append(Link(*await asyncio.open_connection(sock=child.channel, limit=LIMIT)))
        await load_together(self.links, self.profiled)
        self.watches += [begin(self.watch(*one)) for one in enumerate(self.children.all)]

    async def profiled(self) -> None:
        self.log.says("kv_cache_utils.py:1148", kv_line(self.host))

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


async def load_together(links: list[Link], profiled: Callable[[], Awaitable[None]]) -> None:
    """Let workers load, stop at the known memory, and go on when all are there. Raises `Fault` when one ends."""
    for order in ("load", "go"):
        for link in links:
            await link.send({order: True})
        if None in [await link.receive() for link in links]:
            raise Fault(
                "Exception: WorkerProc initialization failed due to an exception in a background process. See stack "
                "trace for root cause.",
                "multiproc_executor.py:908",
            )
        if order == "load":
            await profiled()
