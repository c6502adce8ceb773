"""Failures that can be injected by name: `BRINGUP_STANDIN_FAIL=oom-at-load@3,never-joins@4`.

`name[:argument][@rank]`, comma-separated; without a rank it strikes every rank. The rank is the global data-parallel
rank, or the node rank where a rank spans nodes. A new failure is a new entry of `FAILURES`: which process, in which
phase, what it prints (vLLM's, torch's or NCCL's own words) and what becomes of it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from launch.standin.log import OWN, Fault, Log
from launch.standin.messages import told

VARIABLE = "BRINGUP_STANDIN_FAIL"


class Process(StrEnum):
    MAIN = "main"  # API server, launcher or headless main process
    ENGINE = "engine"
    WORKER = "worker"


class Phase(StrEnum):
    PARSE = "parse"  # main
    CONFIG = "config"  # main
    JOIN = "join"  # engine: before the handshake with the head
    DEVICE = "device"  # worker: device, process groups
    LOAD = "load"  # worker: after `Starting to load model`
    COMPILE = "compile"  # worker
    PROFILE = "profile"  # worker: KV cache size
    AUTOTUNE = "autotune"  # worker: kernels of experts
    CAPTURE = "capture"  # worker: graphs
    READY = "ready"  # a while after the start
    REQUEST = "request"  # the first request that reaches the rank


class Then(StrEnum):
    """What becomes of the process: an uncaught exception, silence, a line only, exit code 0, or a signal."""

    RAISE = "raise"
    HANG = "hang"
    WARN = "warn"
    EXIT = "exit"
    KILL = "kill"
    ABORT = "abort"


class Leaves(Exception):
    """The process ends with exit code 0, as if all were well."""


@dataclass(frozen=True, slots=True)
class Failure:
    """`text` may name `{rank}` and `{argument}`; its last line is the exception for `Then.RAISE`."""

    process: Process
    phase: Phase
    text: str = ""
    then: Then = Then.RAISE
    argument: str = ""  # the default of `{argument}`
    place: str = OWN


def _worker(phase: Phase, text: str, then: Then = Then.RAISE, argument: str = "") -> Failure:
    return Failure(Process.WORKER, phase, text, then, argument)


FAILURES: Mapping[str, Failure] = MappingProxyType(
    {
        "refuses-flag": Failure(Process.MAIN, Phase.PARSE),
        "never-joins": Failure(Process.ENGINE, Phase.JOIN, then=Then.HANG),
        "hangs-in-loading": _worker(Phase.LOAD, "", Then.HANG),
        "hangs-in-autotune": _worker(Phase.AUTOTUNE, "", Then.HANG),
        "hangs-in-capture": _worker(Phase.CAPTURE, "", Then.HANG),
        "dies-after-ready": Failure(Process.ENGINE, Phase.READY, then=Then.KILL),
        "worker-killed": _worker(Phase.READY, "", Then.KILL),
        "hangs-after-ready": Failure(Process.ENGINE, Phase.REQUEST, then=Then.HANG),
        "exits-0": Failure(Process.MAIN, Phase.READY, then=Then.EXIT),
        "engine-dead": Failure(
            Process.ENGINE,
            Phase.READY,
            "RuntimeError: CUDA error: an illegal memory access was encountered",
        ),
        "oom-at-load": _worker(
            Phase.LOAD,
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {argument} GiB. GPU 0 has a total "
            "capacity of 184.31 GiB of which 1.12 GiB is free.",
            argument="7.00",
        ),
        "nccl-timeout": _worker(
            Phase.REQUEST,
            "[rank{rank}]:[E ProcessGroupNCCL.cpp:683] [Rank {rank}] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=14, OpType=ALLREDUCE, NumelIn=7168, NumelOut=7168, Timeout(ms)=600000) "
            "ran for 600055 milliseconds before timing out.",
            Then.ABORT,
        ),
        "nccl-error": _worker(Phase.DEVICE, "torch.distributed.DistBackendError: NCCL error: unhandled system error"),
        "no-cuda": Failure(
            Process.MAIN, Phase.CONFIG, "RuntimeError: Failed to infer device type", place="device.py:57"
        ),
        "cudart-missing": Failure(
            Process.MAIN,
            Phase.CONFIG,
            "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",
        ),
        "driver-old": _worker(
            Phase.DEVICE,
            "RuntimeError: The NVIDIA driver on your system is too old (found version 12080).",
        ),
        "fabric-802": _worker(
            Phase.DEVICE,
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
        ),
        "memory-busy": _worker(
            Phase.DEVICE,
            "ValueError: Free memory on device cuda:0 ({argument}/184.31 GiB) on startup is less than desired GPU "
            "memory utilization (0.92, 169.57 GiB). Decrease GPU memory utilization or reduce GPU memory used by "
            "other processes.",
            argument="60.12",
        ),
        "safetensors-cut": _worker(
            Phase.LOAD,
            "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
        ),
        "disk-full": _worker(Phase.COMPILE, "OSError: [Errno 28] No space left on device"),
        "no-compiler": _worker(Phase.COMPILE, "RuntimeError: Failed to find C compiler. Please specify via CC."),
        "kv-none": _worker(
            Phase.PROFILE,
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
            "initializing the engine.",
        ),
        "kv-small": _worker(
            Phase.PROFILE,
            "ValueError: To serve at least one request with the model's max seq len ({argument}), (39.06 GiB KV "
            "cache is needed, which is larger than the available KV cache memory (20.11 GiB). Based on the "
            "available memory, the estimated maximum model length is 67488.",
            argument="131072",
        ),
        "shm-wait": Failure(
            Process.ENGINE,
            Phase.READY,
            "No available shared memory broadcast block found in 60 seconds. This typically happens when some "
            "processes are hanging or doing some time-consuming work (e.g. compilation, weight/kv cache "
            "quantization).",
            Then.WARN,
            place="shm_broadcast.py:542",
        ),
        "illegal-access": Failure(
            Process.ENGINE,
            Phase.REQUEST,
            "RuntimeError: CUDA error: an illegal memory access was encountered",
        ),
        **{
            name: Failure(Process(process), Phase(phase), text, Then(then), argument)
            for name, process, phase, then, argument, text in told()
        },
    }
)


@dataclass(frozen=True, slots=True)
class Injected:
    """One entry of the variable. `rank` None: every rank."""

    failure: Failure
    argument: str
    rank: int | None

    def text(self, rank: int) -> str:
        argument = self.argument or self.failure.argument
        return self.failure.text.replace("{rank}", str(rank)).replace("{argument}", argument)


def read(env: Mapping[str, str]) -> tuple[Injected, ...]:
    """The failures that `BRINGUP_STANDIN_FAIL` asks for. An unknown name ends the program: a typo is no test."""
    return tuple(_entry(text.strip()) for text in env.get(VARIABLE, "").split(",") if text.strip())


def _entry(text: str) -> Injected:
    body, _, rank = text.partition("@")
    name, _, argument = body.partition(":")
    if name not in FAILURES:
        raise SystemExit(f"{VARIABLE}: no failure {name!r}; there are {', '.join(FAILURES)}")
    if rank and not rank.isdecimal():
        raise SystemExit(f"{VARIABLE}: {rank!r} is not a rank")
    return Injected(FAILURES[name], argument, int(rank) if rank else None)


class Failures:
    """What is injected into one host's processes."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.injected = read(env)

    def due(self, process: Process, phase: Phase, ranks: Container[int]) -> Iterator[Injected]:
        for one in self.injected:
            mine = one.rank is None or one.rank in ranks
            if one.failure.process == process and one.failure.phase == phase and mine:
                yield one

    async def strike(self, process: Process, phase: Phase, ranks: Sequence[int], log: Log) -> None:
        """Do what is injected here: nothing, an exception, silence for ever, or the end of this process."""
        for one in self.due(process, phase, ranks):
            await _act(one.failure, one.text(ranks[0] if one.rank is None else one.rank), log)


async def _act(failure: Failure, text: str, log: Log) -> None:
    if failure.then is Then.RAISE:
        raise Fault(text, failure.place)
    if text and failure.then is Then.WARN:
        log.says(failure.place, text)
    elif text:
        log.bare(text)
    if failure.then is Then.HANG:
        await asyncio.Event().wait()
    if failure.then is Then.EXIT:
        raise Leaves
    if failure.then in (Then.KILL, Then.ABORT):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), signal.SIGKILL if failure.then is Then.KILL else signal.SIGABRT)
