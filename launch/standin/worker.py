"""A GPU worker: loads, compiles, captures, as far as its log tells; then it waits.

A worker ends with its engine (vLLM's death pipe). Where a rank spans hosts, the first worker of each host is the
member that meets the others.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable

from launch.standin.failures import Phase, Process
from launch.standin.host import STORE_TIMEOUT, Host
from launch.standin.log import BANNER, OWN, Fault, Log
from launch.standin.mesh import Mesh
from launch.standin.model import BLOCK, check_weights
from launch.standin.network import gloo_ip, host_ip
from launch.standin.wire import LIMIT, Link, Message

Strike = Callable[[Phase], Awaitable[None]]
GIB = 2**30


async def load(host: Host, log: Log, rank: int, *, first: bool) -> None:
    """All phases from the device to the captured graphs. Raises `Fault` for what is injected or wrong."""

    async def strike(phase: Phase) -> None:
        await host.failures.strike(Process.WORKER, phase, (rank,), log)

    await strike(Phase.DEVICE)
    if host.env.get("GLOO_SOCKET_IFNAME"):
        gloo_ip(host.env)  # gloo makes its device in every worker, whatever the number of hosts
    await host.pace.take("device")
    log.says("model_runner.py:400", f"Starting to load model {host.model.path}...")
    await strike(Phase.LOAD)
    await weights(host, log, first=first)
    await compiled(host, log, strike)
    await strike(Phase.PROFILE)
    await host.pace.take("profile")
    log.says("gpu_worker.py:773", "Available KV cache memory: 20.00 GiB")
    await strike(Phase.CAPTURE)
    await graphs(host, log)


async def weights(host: Host, log: Log, *, first: bool) -> None:
    check_weights(host.model)
    total = max(len(host.model.shards), 1)
    for done in range(total):
        if first:
            log.bare(shards_line(done, total))
        await host.pace.take("load", 1 / total)
    if first:
        log.bare(shards_line(total, total))
    took = host.pace.seconds("load")
    log.says("default_loader.py:507", f"Loading weights took {took:.2f} seconds")
    log.says("model_runner.py:428", f"Model loading took 0.00 GiB memory and {took:.6f} seconds")


def shards_line(done: int, total: int) -> str:
    return (
        f"\rLoading safetensors checkpoint shards: {100 * done // total:3d}% Completed | {done}/{total} "
        f"[00:{done:02d}<00:{total - done:02d}, 1.00it/s]"
    )


async def compiled(host: Host, log: Log, strike: Strike) -> None:
    await strike(Phase.COMPILE)
    if host.options.on("enforce_eager"):
        return
    await host.pace.take("compile")
    log.says("monitor.py:53", f"torch.compile took {host.pace.seconds('compile'):.2f} s in total")


async def graphs(host: Host, log: Log) -> None:
    if host.options.on("enforce_eager"):
        return
    await host.pace.take("capture")
    took = host.pace.seconds("capture")
    log.says("model_runner.py:1164", f"Graph capturing finished in {took:.0f} secs, took 0.00 GiB")
    log.says(
        "gpu_worker.py:1064",
        "Free memory on device (184.31/184.31 GiB) on startup. Desired GPU memory utilization is (0.92, 169.57 "
        f"GiB). Replace gpu_memory_utilization config with `--kv-cache-memory={20 * GIB}` (20.00 GiB) to fit into "
        "requested memory. Current kv cache memory in use is 20.00 GiB.",
    )


def kv_line(host: Host) -> str:
    return (
        f"GPU KV cache size: {host.model.kv_tokens:,} tokens, Maximum concurrency for "
        f"{host.model.max_length:,} tokens per request: {host.model.concurrency:.2f}x"
    )


def kv_blocks(host: Host) -> int:
    return host.model.kv_tokens // BLOCK


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
    """A worker process: load on the engine's word, tell it, then obey until it is gone."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)  # the engine ends us
    link = Link(*await asyncio.open_connection(sock=channel, limit=LIMIT))
    order = await link.receive()
    if order is None:
        return 0
    if index == 0:
        log.line("WARNING", OWN, BANNER)
    try:
        mesh = await member(host, log, link) if host.layout.node_rank and index == 0 else None
        await load(host, log, rank, first=index == 0)
    except Fault as fault:
        log.fails("WorkerProc failed to start.", fault)
        return 1
    await link.send({"loaded": True})
    while (order := await link.receive()) is not None:
        await host.failures.strike(Process.WORKER, Phase(order["phase"]), (rank,), log)
    del mesh
    return 0


async def member(host: Host, log: Log, engine: Link) -> Mesh:
    """The first worker of a host that is not the head of its rank: takes part in each step that the head calls."""
    mesh = Mesh(host.layout.node_rank, host.layout.nodes_of_rank)
    answers: set[asyncio.Task[None]] = set()

    async def answer(message: Message) -> None:
        try:
            await mesh.acknowledge(message["rank"], message["step"])
        except Fault as fault:
            log.fails("WorkerProc hit an exception.", fault)
            engine.close()

    mesh.on_step = lambda message: answers.add(asyncio.ensure_future(answer(message)))
    await join_nodes(host, log, mesh)
    return mesh


def run(host: Host, rank: int, index: int, channel: socket.socket) -> int:
    """The worker's process."""
    return asyncio.run(work(host, Log(worker_name(host, rank, index)), rank, channel, index=index))
