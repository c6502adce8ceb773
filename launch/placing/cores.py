"""Whole cores of one host divided among its processes. Pure.

API servers, engine cores and workers each keep a core busy: two on one core slow every rank down (vLLM, "Optimization
and Tuning", CPU resources). A core goes to one process with all its hardware threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Cpus: TypeAlias = tuple[int, ...]
WORKER, ENGINE_CORE, API_SERVER, OTHERS = "worker", "engine core", "API server", "others"
FIRST = (OTHERS, API_SERVER, ENGINE_CORE, WORKER)
"""Who gets the cores of a node in which order: the lowest CPUs have most of the kernel's own work."""


@dataclass(frozen=True, slots=True)
class Process:
    """`node`: the NUMA node that it belongs to; None: any."""

    kind: str
    number: int
    node: int | None = None


def divide(
    cores: Mapping[int, Sequence[Cpus]], processes: Sequence[Process], spare_to: Sequence[str]
) -> dict[Process, Cpus] | None:
    """The CPUs of each process: a core for each, on its node, and what is left in equal parts to `spare_to`.

    `cores`: by NUMA node, each core as its CPUs. Processes of any node go where most cores are left for one process.
    None: a node has fewer cores than processes.
    """
    homes: dict[int, list[Process]] = {node: [one for one in processes if one.node == node] for node in cores}
    for one in processes:
        if one.node is None:
            homes[_roomiest(cores, homes)].append(one)
    if any(len(homes[node]) > len(cores[node]) for node in cores) or _homeless(processes, cores):
        return None
    shares: dict[Process, Cpus] = {}
    for node, there in homes.items():
        shares |= _shares(cores[node], there, spare_to)
    return shares


def _homeless(processes: Sequence[Process], cores: Mapping[int, Sequence[Cpus]]) -> bool:
    return any(one.node is not None and one.node not in cores for one in processes)


def _roomiest(cores: Mapping[int, Sequence[Cpus]], homes: Mapping[int, Sequence[Process]]) -> int:
    return max(cores, key=lambda node: (len(cores[node]) / (len(homes[node]) + 1), -node))


def _shares(cores: Sequence[Cpus], there: Sequence[Process], spare_to: Sequence[str]) -> dict[Process, Cpus]:
    ordered = sorted(there, key=lambda one: (FIRST.index(one.kind), one.number))
    takers = sorted((one for one in ordered if one.kind in spare_to), key=lambda one: spare_to.index(one.kind))
    spare = len(cores) - len(there)
    counts = dict.fromkeys(ordered, 1)
    for at, one in enumerate(takers):
        counts[one] += spare // len(takers) + (at < spare % len(takers))
    at, shares = 0, {}
    for one in ordered:
        shares[one] = tuple(sorted(cpu for core in cores[at : at + counts[one]] for cpu in core))
        at += counts[one]
    return shares
