"""The main process of a host without API servers: it starts engines (or the workers of a rank that spans hosts)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from functools import partial
from typing import Any

from launch.standin import engine, worker
from launch.standin.failures import Phase, Process
from launch.standin.host import Host
from launch.standin.log import Fault, Log
from launch.standin.processes import Child, Children
from launch.standin.wire import LIMIT, Link

STOP_GRACE = 5.0


def run(host: Host, log: Log, children: Children) -> int:
    """The main process; its exit code."""
    layout = host.layout
    if layout.node_rank > 0:
        address = f"{layout.master_address}:{layout.master_port}"
        log.says(
            "serve.py:222",
            f"Launching vLLM (v{host.version}) headless multiproc executor, with head node address {address} for "
            "torch.distributed process group.",
        )
        for index in range(max(layout.workers, 1)):
            name = worker.worker_name(host, layout.node_rank, index)
            children.spawn(
                name,
                f"VLLM::{name}",
                partial(worker.run, host, layout.node_rank, index),
            )
        return asyncio.run(until_stopped(host, log, children, start_workers(log, children)))
    address = f"tcp://{layout.address}:{layout.rpc_port}"
    log.says(
        "serve.py:240",
        f"Launching {layout.local} data parallel engine(s) in headless mode, with head node address {address}.",
    )
    head = ["tcp", layout.address, layout.rpc_port]
    for rank in layout.ranks:
        name = engine.engine_name(host, rank)
        children.spawn(name, f"VLLM::{name}", partial(engine.run, host, rank, head, None))
    return asyncio.run(until_stopped(host, log, children, first_end(children)))


async def first_end(children: Children) -> int:
    """Wait for the first engine that ends: 1 when it never was ready. Later vLLM takes no notice of how it ended."""
    ends = {asyncio.ensure_future(child.ended()): child for child in children.all}
    done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    return 0 if all(was_ready(ends[end]) for end in done) else 1


def was_ready(child: Child) -> bool:
    return child.channel.recv(len(engine.READY)) == engine.READY


async def start_workers(log: Log, children: Children) -> int:
    links = [Link(*await asyncio.open_connection(sock=child.channel, limit=LIMIT)) for child in children.all]
    for link in links:
        await link.send({"load": True})
    loaded = [await link.receive() for link in links]
    if None in loaded:
        raise Fault(
            "Exception: WorkerProc initialization failed due to an exception in a background process. See stack "
            "trace for root cause.",
            "multiproc_executor.py:908",
        )
    watches = [asyncio.ensure_future(watch(log, *one)) for one in enumerate(children.all)]
    await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
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
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    life = asyncio.ensure_future(life_of)
    struck, stopped = asyncio.ensure_future(strike(host, log)), asyncio.ensure_future(stop.wait())
    ends: set[asyncio.Future[Any]] = {life, struck, stopped}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    try:
        return life.result() if life.done() and not stop.is_set() else 0
    finally:
        if stop.is_set():
            log.says("serve.py:264", "Waiting up to 0 seconds for processes to exit")
        await children.stop(STOP_GRACE + host.pace.seconds("stop_headless"))
        log.says("serve.py:266", "Shutting down.")


async def strike(host: Host, log: Log) -> None:
    await host.pace.take("after_ready")
    await host.failures.strike(Process.MAIN, Phase.READY, host.layout.start, log)
    await asyncio.Event().wait()
