"""The simulated GPUs of a lab host: a worker is on its GPU as long as it lives, as the tool there tells.

On any other host this does nothing: there are no GPUs, and none are missed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from launch.standin.log import Fault

MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class Gpus:
    """`described` and `processes`: files of the lab's simulated tool. A line of the second: `GPU PID MIB NAME`."""

    described: Path = Path("/opt/bringup-lab/python/inventory/lab/nvidia/gpus.json")
    processes: Path = Path("/run/bringup-lab/gpu-processes")

    def claim(self, local_rank: int, name: str, utilisation: float, env: Mapping[str, str]) -> None:
        """Put this process on the GPU of `local_rank`. Raises `Fault` in vLLM's words when it is missing or taken."""
        if not self.described.is_file():
            return
        totals = {gpu["index"]: gpu["memory_mib"] for gpu in json.loads(self.described.read_text())["gpus"]}
        visible = visible_devices(env, list(totals))
        if local_rank >= len(visible):
            raise Fault(
                f"AssertionError: DP adjusted local rank {local_rank} is out of bounds. Visible devices: {visible}",
                "gpu_worker.py:250",
            )
        total = totals[visible[local_rank]]
        wanted = int(total * utilisation)
        free = total - sum(mib for gpu, mib in self.taken() if gpu == visible[local_rank])
        if free < wanted:
            raise Fault(busy(local_rank, free, total, utilisation), "utils.py:420")
        self.processes.parent.mkdir(parents=True, exist_ok=True)
        with self.processes.open("a", encoding="utf-8") as file:
            file.write(f"{visible[local_rank]} {os.getpid()} {wanted} {name}\n")

    def taken(self) -> Iterator[tuple[int, int]]:
        """(GPU, MiB) of the living processes that are on one."""
        for line in self.processes.read_text(encoding="utf-8").splitlines() if self.processes.exists() else ():
            gpu, pid, mib, _ = line.split(maxsplit=3)
            if Path("/proc", pid).exists():
                yield int(gpu), int(mib)


def visible_devices(env: Mapping[str, str], all_of_them: list[int]) -> list[int]:
    """The GPUs that the process may use, in its order; names other than numbers are not simulated."""
    text = env.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return all_of_them
    return [int(part) for part in text.split(",") if part.strip().isdecimal() and int(part) in all_of_them]


def busy(local_rank: int, free: int, total: int, utilisation: float) -> str:
    free_gib, total_gib = (f"{mib / MIB_PER_GIB:.2f}" for mib in (free, total))
    return (
        f"ValueError: Free memory on device cuda:{local_rank} ({free_gib}/{total_gib} GiB) on startup is less than "
        f"desired GPU memory utilization ({utilisation}, {total * utilisation / MIB_PER_GIB:.2f} GiB). Decrease GPU "
        "memory utilization or reduce GPU memory used by other processes."
    )
