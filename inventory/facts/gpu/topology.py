"""The matrix of `nvidia-smi topo -m`: CPU and NUMA affinity of each GPU, and its distance to GPUs and NICs."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from inventory.facts.cpulist import parse_list

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
GPU = re.compile(r"GPU(\d{1,3})")
AFFINITIES = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


@dataclass(frozen=True, slots=True)
class Affinity:
    """One GPU's cells as printed, empty where the cell is. `gpu_numa_id` is its own memory's node on Grace."""

    cpus: str
    numa: str
    gpu_numa_id: str


def parse_affinities(text: str) -> dict[int, Affinity]:
    """By GPU index. The matrix is split at tabs, because a cell can be empty."""
    header: list[str] = []
    found: dict[int, Affinity] = {}
    for line in ESCAPES.sub("", text).splitlines():
        cells = [cell.strip() for cell in line.split("\t")]
        if "CPU Affinity" in cells:
            header = cells
        elif header and (match := GPU.fullmatch(cells[0])):
            found.setdefault(int(match[1]), affinity(header, cells))
    return found


def affinity(header: list[str], cells: list[str]) -> Affinity:
    """Columns before `CPU Affinity` line up; after it, some versions put two tabs before `GPU NUMA ID`."""
    start = header.index("CPU Affinity")
    rest = cells[start:]
    names = [name for name in header[start:] if name]
    if "GPU NUMA ID" in names and len(rest) > 3:
        rest = [*rest[:2], rest[-1]]
    by_name = dict(zip(names, rest, strict=False))
    cpus, numa, memory = (by_name.get(name, "") for name in AFFINITIES)
    return Affinity(cpus, numa, memory)


def cpu_node(numa: str, nodes_with_cpus: Collection[int]) -> int | None:
    """The one node of the cell that has CPUs: `0,3-9,11-17` is node 0 on GB200. None if none or several have."""
    try:
        listed = parse_list(numa)
    except ValueError:
        return None
    candidates = [node for node in listed if node in nodes_with_cpus] if nodes_with_cpus else list(listed)
    return candidates[0] if len(candidates) == 1 else None
