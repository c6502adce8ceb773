"""Where the processes of ranks really run, against where their GPUs are. Pure.

A worker that runs on another NUMA node than its GPU copies everything over the link between the processors. Whether it
does is read from the running process, not from what was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inventory.facts.cpulist import parse_list


class Place(StrEnum):
    """`FREE`: it may run on any node, so nobody knows where it will. `UNKNOWN`: the host does not tell."""

    LOCAL = "local"
    REMOTE = "remote"
    FREE = "free"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Process:
    """One process that holds a GPU. `node`: of the GPU; None: the kernel does not tell. `policies`: of its memory."""

    pid: int
    name: str
    cpus: tuple[int, ...]
    policies: tuple[str, ...]
    gpu: str
    node: int | None
    node_cpus: tuple[int, ...]
    source: str = ""

    @property
    def place(self) -> Place:
        """Compared by CPUs: what it may use, against those of its GPU's node."""
        if self.node is None or not self.node_cpus or not self.cpus:
            return Place.UNKNOWN
        own, near = set(self.cpus), set(self.node_cpus)
        if own <= near:
            return Place.LOCAL
        return Place.FREE if own & near else Place.REMOTE

    @property
    def bound_elsewhere(self) -> bool:
        """Whether its memory is held to nodes among which its GPU's is not: `bind:0` and its like."""
        held = {node for one in self.policies if one.startswith("bind") for node in _nodes(one)}
        return bool(held) and self.node is not None and self.node not in held


def _nodes(policy: str) -> tuple[int, ...]:
    """The nodes of `bind:0-1`, also with flags before: `bind=static:0`."""
    return _cpus(policy.partition(":")[2])


def _cpus(text: str) -> tuple[int, ...]:
    try:
        return tuple(parse_list(text))
    except ValueError:
        return ()


def processes_of(told: object, owners: str, nodes: str) -> tuple[Process, ...]:
    """Those of the observed processes that hold a GPU, by the three parts of a look."""
    gpu_of = {int(pid): gpu for pid, gpu in _pairs(owners) if pid.isdecimal()}
    node_of = {words[0]: words[1:] for line in nodes.splitlines() if (words := line.split())}
    seen = told if isinstance(told, list) else []
    return tuple(
        process
        for one in seen
        if isinstance(one, dict) and one.get("pid") in gpu_of
        for process in [_process(one, gpu_of[one["pid"]], node_of)]
    )


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(words[0], words[1]) for line in text.splitlines() if len(words := line.split()) == 2]


def _process(told: Mapping[str, Any], gpu: str, node_of: Mapping[str, Sequence[str]]) -> Process:
    words = node_of.get(gpu, ())
    node = int(words[0]) if words and words[0].isdecimal() else None
    return Process(
        pid=int(told["pid"]),
        name=str(told.get("name", "")),
        cpus=tuple(one for one in told.get("cpus", ()) if isinstance(one, int)),
        policies=tuple(str(one) for one in told.get("policies", ())),
        gpu=gpu,
        node=node,
        node_cpus=_cpus(words[1]) if len(words) > 1 else (),
        source=str(told.get("source", "")),
    )


def audit(processes: Sequence[Process], *, simulated: bool = False) -> tuple[str, ...]:
    """What is worth a line: processes away from their GPU; one line says that all are near, or why it is unknown."""
    if simulated:
        return ("where processes run is not judged: the GPUs are simulated",)
    away = [one for one in processes if one.place is Place.REMOTE or one.bound_elsewhere]
    free = [one for one in processes if one.place is Place.FREE]
    unknown = [one for one in processes if one.place is Place.UNKNOWN]
    lines = [f"process {one.pid} ({one.name[:40]}) runs away from its GPU {one.gpu} of node {one.node}" for one in away]
    if free:
        lines.append(f"{len(free)} process(es) may run on any node: nothing binds them to that of their GPU")
    if unknown:
        lines.append(f"{len(unknown)} process(es) hold a GPU whose node the kernel does not tell")
    if processes and not lines:
        lines.append(f"all {len(processes)} processes with a GPU run on its node")
    return tuple(lines)
