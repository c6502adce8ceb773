"""The main process of a host without API servers: it starts engines (or the workers of a rank that spans hosts)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from launch.standin import engine, worker
from launch.standin.failures import Phase, Process
from launch.standin.host import Host
from launch.standin.log import Log
from launch.standin.processes import Child, Children
from launch.standin.tasks import asked_to_stop, begin, first
from launch.standin.team import load_together
from launch.standin.wire import LIMIT, Link

STOP_GRACE = 5.0


def run(host: Host, log: Log, children: Children) -> int:
    """The main process; its exit code. Raises `Fault` for a failure at start."""
    life = run_workers(host, log, children) if host.layout.node_rank else run_engines(host, log, children)
    return asyncio.run(until_stopped(host, log, children, life))


def run_engines(host: Host, log: Log, children: Children) -> Coroutine[Any, Any, int]:
    layout = host.layout
    log.says(
        "serve.py:240",
        f"Launching {layout.local} data parallel engine(s) in headless mode, with head node address "
        f"tcp://{layout.address}:{layout.rpc_port}.",
    )
    head = ["tcp", layout.address, layout.rpc_port]
    for rank in layout.ranks:
        name = engine.engine_name(host, rank)
        children.spawn(name, f"VLLM::{name}", partial(engine.run, host, rank, head, None))
    return Followers(host, log, children).live()


def run_workers(host: Host, log: Log, children: Children) -> Coroutine[Any, Any, int]:
    layout = host.layout
    log.says(
        "serve.py:222",
        f"Launching vLLM (v{host.version}) headless multiproc executor, with head node address "
        f"{layout.master_address}:{layout.master_port} for torch.distributed process group.",
    )
    for index in range(layout.workers):
        name = worker.worker_name(host, layout.node_rank, index)
        children.spawn(name, f"VLLM::{name}", partial(worker.run, host, layout.node_rank, index))
    return workers_live(log, children)


@dataclass
class Followers:
    """The engines of this host, and which of them have been ready."""

    host: Host
    log: Log
    children: Children
    ready: set[str] = field(default_factory=set)

    async def live(self) -> int:
        """Until the first engine ends: 1 when it never was ready. Later vLLM does not ask how it ended."""
        ends = {begin(child.ended()): child for child in self.children.all}
        strike = begin(self.strike())
        await first(strike, *ends)
        if strike.done():
            strike.result()
        ended = {child.name for end, child in ends.items() if end.done()}
        return 0 if ended <= self.ready else 1

    async def strike(self) -> None:
        """What is injected into this main process, a while after all its engines are ready."""
        await asyncio.gather(*map(self.told, self.children.all))
        await self.host.pace.take("after_ready")
        await self.host.failures.strike(Process.MAIN, Phase.READY, self.host.layout.ranks, self.log)
        await asyncio.Event().wait()

    async def told(self, child: Child) -> None:
        child.channel.settimeout(0)
        if not await asyncio.get_running_loop().sock_recv(child.channel, len(engine.READY)):
            await asyncio.Event().wait()
        self.ready.add(child.name)


async def profiled() -> None:
    """The head of the rank says how large the KV cache is."""


async def workers_live(log: Log, children: Children) -> int:
    """Let the workers load; then until the first one ends. Raises `Fault` when one cannot load."""
    links = [Link(*await asyncio.open_connection(sock=child.channel, limit=LIMIT)) for child in children.all]
    await load_together(links, profiled)
    await first(*[begin(watch(log, *one)) for one in enumerate(children.all)])
    for link in links:
        link.close()
    return 0


async def watch(log: Log, index: int, child: Child) -> None:
    code = await child.ended()
    log.line(
        "ERROR",
        "multiproc_executor.py:380",
        f"Worker proc VllmWorker-{index} died unexpectedly (exit code: {code}), shutting down executor.",
    )


async def until_stopped(host: Host, log: Log, children: Children, life_of: Coroutine[Any, Any, int]) -> int:
    """Run to the end or to TERM, then end all children."""
    stop = asked_to_stop(signal.SIGTERM, signal.SIGINT)
    life = begin(life_of)
    await first(life, stop)
    try:
        return 0 if stop.done() else life.result()
    finally:
        if stop.done():
            log.says("serve.py:264", "Waiting up to 0 seconds for processes to exit")
        await children.stop(STOP_GRACE + host.pace.seconds("stop_headless"))
        log.says("serve.py:266", "Shutting down.")
