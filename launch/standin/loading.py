"""What a worker does before it is ready, as far as its log tells: device, weights, compilation, graphs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from launch.standin.caches import WARM_SHARE, WorkerCaches
from launch.standin.failures import Phase, Process
from launch.standin.gpus import Gpus
from launch.standin.host import Host
from launch.standin.log import Log
from launch.standin.model import BLOCK, check_weights
from launch.standin.network import gloo_ip
from launch.standin.preload import take_weights

GIB = 2**30
GRAPHS = 4  # captured graphs


@dataclass(frozen=True, slots=True)
class Loading:
    """One worker's way to ready. `local_rank`: its number among the workers of the host. `first`: of its rank.

    `profiled` is awaited when the memory is known: the engine then says how large its KV cache is.
    """

    host: Host
    log: Log
    rank: int
    local_rank: int
    first: bool
    profiled: Callable[[], Awaitable[None]]
    group_rank: int = 0  # within its data-parallel rank, over all hosts

    @property
    def caches(self) -> WorkerCaches:
        return WorkerCaches(self.host, self.log, self.group_rank, self.rank)

    async def run(self) -> None:
        """Raises `Fault` for what is injected or wrong."""
        await self.device()
        await self.weights()
        await self.compilation()
        await self.begin(Phase.PROFILE, "profile")
        self.log.says("gpu_worker.py:773", "Available KV cache memory: 20.00 GiB")
        await self.profiled()
        await self.autotuning()
        await self.graphs()

    async def begin(self, phase: Phase, takes: str, share: float = 1.0) -> None:
        """Meet what is injected into `phase`, then let `share` of its time pass."""
        await self.host.failures.strike(Process.WORKER, phase, (self.rank,), self.log)
        await self.host.pace.take(takes, share)

    async def device(self) -> None:
        await self.begin(Phase.DEVICE, "device")
        utilisation = float(self.host.options.text("gpu_memory_utilization", "0.92"))
        Gpus().claim(self.local_rank, f"VLLM::{self.log.process}", utilisation, self.host.env)
        if self.host.env.get("GLOO_SOCKET_IFNAME"):
            gloo_ip(self.host.env)  # gloo makes its device in every worker, whatever the number of hosts

    async def weights(self) -> None:
        self.log.says("model_runner.py:400", f"Starting to load model {self.host.model.path}...")
        await self.host.failures.strike(Process.WORKER, Phase.LOAD, (self.rank,), self.log)
        check_weights(self.host.model)
        if take_weights(self.host.options, self.local_rank, self.host.env):
            self.log.says("ipc_loader.py:410", "Mapped the weights of a weight cache daemon (SIMULATED)")
            return
        total = max(len(self.host.model.shards), 1)
        for done in range(total):
            self.bar(f"Loading safetensors checkpoint shards: {100 * done // total:3d}% Completed", done, total)
            await self.host.pace.take("load", 1 / total)
        self.bar("Loading safetensors checkpoint shards: 100% Completed", total, total)
        took = self.host.pace.seconds("load")
        self.log.says("default_loader.py:507", f"Loading weights took {took:.2f} seconds")
        self.log.says("model_runner.py:428", f"Model loading took 0.00 GiB memory and {took:.6f} seconds")

    def bar(self, text: str, done: int, total: int) -> None:
        """A progress bar, as it stands in a log; of the first worker only."""
        if self.first:
            self.log.bare(f"\r{text} | {done}/{total} [00:{done:02d}<00:{total - done:02d}, 1.00it/s]")

    @property
    def eager(self) -> bool:
        return self.host.options.on("enforce_eager")

    async def compilation(self) -> None:
        if self.eager:
            return
        if self.caches.finds_compiled():
            await self.begin(Phase.COMPILE, "compile", WARM_SHARE)
            return
        folder = self.caches.compiled.parent
        self.log.says("backends.py:1126", f"Using cache directory: {folder}/backbone for vLLM's torch.compile")
        await self.begin(Phase.COMPILE, "compile")
        took = self.host.pace.seconds("compile")
        self.log.says("monitor.py:53", f"torch.compile took {took:.2f} s in total")
        self.caches.keep_compiled()

    async def autotuning(self) -> None:
        asked = self.host.options.parsed.get("enable_flashinfer_autotune")  # vLLM's own choice: on
        if self.eager or not self.host.layout.moe or asked is False:
            return
        warm = self.caches.finds_tuned()
        self.tuner("starts")
        await self.begin(Phase.AUTOTUNE, "autotune", WARM_SHARE if warm else 1.0)
        self.tuner("ends")
        if not warm:
            self.caches.keep_tuned()

    def tuner(self, word: str) -> None:
        now = time.strftime("%Y-%m-%d %H:%M:%S,000")
        self.log.bare(f"{now} - INFO - autotuner.py:256 - flashinfer.jit: [Autotuner]: Autotuning process {word} ...")

    async def graphs(self) -> None:
        await self.host.failures.strike(Process.WORKER, Phase.CAPTURE, (self.rank,), self.log)
        if self.eager:
            return
        for done in range(GRAPHS + 1):
            self.bar(f"Capturing CUDA graphs (decode, FULL): {100 * done // GRAPHS:3d}%", done, GRAPHS)
            await self.host.pace.take("capture", 1 / (GRAPHS + 1))
        took = self.host.pace.seconds("capture")
        self.log.says("model_runner.py:1164", f"Graph capturing finished in {took:.0f} secs, took 0.00 GiB")
        self.log.says(
            "gpu_worker.py:1064",
            "Free memory on device (184.31/184.31 GiB) on startup. Desired GPU memory utilization is (0.92, 169.57 "
            f"GiB). Replace gpu_memory_utilization config with `--kv-cache-memory={20 * GIB}` (20.00 GiB) to fit "
            "into requested memory. Current kv cache memory in use is 20.00 GiB.",
        )


def kv_line(host: Host) -> str:
    return (
        f"GPU KV cache size: {host.model.kv_tokens:,} tokens, Maximum concurrency for "
        f"{host.model.max_length:,} tokens per request: {host.model.concurrency:.2f}x (simulated)"
    )


def kv_blocks(host: Host) -> int:
    return host.model.kv_tokens // BLOCK
