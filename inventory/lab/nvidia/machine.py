"""What the simulated tool knows: the lab's hardware and the processes that are on its GPUs now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MARK = "simulated by the lab of bringup"
INVALID = "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."
UNTOLD = "[N/A]"
BAD_ARGUMENT, NOT_FOUND = 2, 6


class Refused(Exception):
    """What is said instead of an answer, and the exit status."""

    def __init__(self, message: str, status: int = BAD_ARGUMENT) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Process:
    gpu: int
    pid: int
    mib: int
    name: str


@dataclass(frozen=True)
class Machine:
    """`told` is gpus.json: driver, cuda, gpus (texts by name), nics, links. `processes`: those on a GPU now."""

    told: dict[str, Any]
    processes: tuple[Process, ...]

    def values(self, gpu: dict[str, Any]) -> dict[str, str]:
        used = sum(process.mib for process in self.processes if process.gpu == gpu["index"])
        free = gpu["memory_mib"] - gpu["reserved_mib"] - used
        known = {"driver": self.told["driver"], "count": len(self.told["gpus"]), **gpu}
        told = {**known, "used_mib": used, "free_mib": free}
        if gpu["unified"]:
            told |= dict.fromkeys(("memory_mib", "reserved_mib", "used_mib", "free_mib"), UNTOLD)
        return {name: str(value) for name, value in told.items()}

    def on(self, gpu: dict[str, Any]) -> list[Process]:
        return [process for process in self.processes if process.gpu == gpu["index"]]

    def only(self, wanted: str | None) -> Machine:
        """The machine with the one GPU that an index, UUID or PCI address names."""
        if wanted is None:
            return self
        names = ("index", "uuid", "pci")
        gpus = [gpu for gpu in self.told["gpus"] if wanted in [str(gpu[name]) for name in names]]
        if not gpus:
            raise Refused("No devices were found", NOT_FOUND)
        kept = tuple(process for process in self.processes if process.gpu == gpus[0]["index"])
        return Machine({**self.told, "gpus": gpus}, kept)


def read_machine(folder: Path, processes: Path) -> Machine:
    return Machine(json.loads((folder / "gpus.json").read_text()), tuple(read_processes(processes)))


def read_processes(path: Path) -> Iterator[Process]:
    for line in path.read_text().splitlines() if path.exists() else ():
        gpu, pid, mib, name = line.split(maxsplit=3)
        if Path("/proc", pid).exists():
            yield Process(int(gpu), int(pid), int(mib), name)


def read_fields(path: Path) -> list[list[str]]:
    """The cells of each line that is no comment; the first keeps its indentation."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [[cell.rstrip() if n == 0 else cell.strip() for n, cell in enumerate(line.split("|"))] for line in lines]
