"""What a worker does before it is ready, as far as its log tells: device, weights, compilation, graphs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from launch.standin.failures import Phase, Process
from launch.standin.host import Host
from launch.standin.log import Log
from launch.standin.model import BLOCK, check_weights
from launch.standin.network import gloo_ip

Strike = Callable[[Phase], Awaitable[None]]
GIB = 2**30


async def load(host: Host, log: Log, rank: int, *, first: bool) -> None:
    """All phases from the device to the captured graphs. Raises `Fault` for what is injected or wrong."""

    async def strike(phase: Phase) -> None:
        await host.failures.strike(Process.WORKER, phase, (rank,), log)

    await host.pace.take("device")
    await strike(Phase.DEVICE)
    if host.env.get("GLOO_SOCKET_IFNAME"):
        gloo_ip(host.env)  # gloo makes its device in every worker, whatever the number of hosts
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
