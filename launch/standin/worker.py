"""A GPU worker: loads, then it waits.

A worker ends with its engine (vLLM's death pipe). Where a rank spans hosts, the first worker of each host is the
member that meets the others.
"""

from __future__ import annotations

import asyncio
import signal
import socket

from launch.standin.failures import Phase, Process
from launch.standin.host import STORE_TIMEOUT, Host
from launch.standin.loading import Loading
from launch.standin.log import OWN, Fault, Log
from launch.standin.mesh import Mesh
from launch.standin.network import host_ip
from launch.standin.tasks import begin, first
from launch.standin.wire import LIMIT, Link, Message


def worker_name(host: Host, rank: int, local_worker: int) -> str:
    """VLLM's name of a worker: Worker_DP1_TP0_EP2, Worker_TP3, Worker."""
    layout = host.layout
    tensor_rank = layout.node_rank * layout.workers + local_worker
    name = f"Worker_DP{rank}" if layout.in_step else "Worker"
    name += f"_TP{tensor_rank}" if layout.tensor_parallel > 1 else ""
    return name + (f"_EP{rank * layout.tensor_parallel + tensor_rank}" if layout.expert_parallel else "")


async def join_nodes(host: Host, log: Log, mesh: Mesh) -> None:
    """The process group of a rank that spans hosts. Raises `Fault` in torch's words when a host does not come."""
    layout = host.layout
    store = ["tcp", layout.master_address, layout.master_port]
    try:
        async with asyncio.timeout(host.join_limit(STORE_TIMEOUT)):
            await mesh.join(store, host_ip(host.env))
    except TimeoutError:
        log.says(OWN, f"{len(mesh.peers) + 1}/{layout.nodes_of_rank} hosts of the group came")
        raise Fault(store_text(layout.node_rank, store)) from None


def store_text(node_rank: int, store: list[object]) -> str:
    if node_rank == 0:
        return "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined."
    return (
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to "
        f"connect to ({store[1]}, {store[2]})."
    )


async def work(host: Host, log: Log, rank: int, channel: socket.socket, *, index: int) -> int:
    """A worker process: load on the engine's word, tell it, obey; end when the engine is gone."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)  # the engine ends us
    engine = Link(*await asyncio.open_connection(sock=channel, limit=LIMIT))
    if await engine.receive() is None:
        return 0
    if index == 0:
        log.banner()
    go = asyncio.Event()
    loading = begin(start(host, log, rank, engine, index, go))
    obeying = begin(obey(host, log, rank, engine, go))
    await first(loading, obeying)
    try:
        if not obeying.done():
            loading.result()
            await engine.send({"loaded": True})
            await obeying
    except Fault as fault:
        log.fails("WorkerProc failed to start." if not obeying.done() else "WorkerProc hit an exception.", fault)
        return 1
    return 0


async def start(host: Host, log: Log, rank: int, engine: Link, index: int, go: asyncio.Event) -> None:
    async def profiled() -> None:
        await engine.send({"profiled": True})
        await go.wait()

    if host.layout.node_rank and index == 0:
        await join_as_member(host, log, engine)
    of_host = (rank - host.layout.start) * host.layout.workers if not host.layout.node_rank else 0
    group_rank = host.layout.node_rank * host.layout.workers + index
    await Loading(host, log, rank, of_host + index, index == 0, profiled, group_rank).run()


async def obey(host: Host, log: Log, rank: int, engine: Link, go: asyncio.Event) -> None:
    """Go on after profiling, and meet what is injected into a phase, when the engine says so."""
    while (order := await engine.receive()) is not None:
        if "phase" in order:
            await host.failures.strike(Process.WORKER, Phase(order["phase"]), (rank,), log)
        go.set()


async def join_as_member(host: Host, log: Log, engine: Link) -> None:
    """The first worker of a host that is not the head of its rank: takes part in each step that the head calls."""
    mesh = Mesh(host.layout.node_rank, host.layout.nodes_of_rank)

    async def answer(message: Message) -> None:
        try:
            await mesh.acknowledge(message["rank"], message["step"])
        except Fault as fault:
            log.fails("WorkerProc hit an exception.", fault)
            engine.close()

    mesh.on_step = lambda message: begin(answer(message))
    await join_nodes(host, log, mesh)


def run(host: Host, rank: int, index: int, channel: socket.socket) -> int:
    """The worker's process."""
    return asyncio.run(work(host, Log(worker_name(host, rank, index)), rank, channel, index=index))
