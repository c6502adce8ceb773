"""NUMA nodes and the host's own memory, from /sys/devices/system/node and /proc/meminfo."""

from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.cpu import read_online
from inventory.facts.cpulist import parse_list, parse_mask
from inventory.facts.host import FileSystem, Memory, NumaNode
from inventory.facts.numactl import parse_numactl

NODE_CPUS = re.compile(r"/node(\d{1,6})/(cpulist|cpumap):(.*)")
DISTANCES = re.compile(r"/node(\d{1,6})/distance:([\d ]*)")
INITIATOR = re.compile(r"/node(\d{1,6})/access([01])/initiators/node(\d{1,6})")
NODE_MEMORY = re.compile(r"(?m)^Node (\d{1,6}) (MemTotal|MemFree):\s+(\d{1,18}) kB")
SHM = "/dev/shm"  # noqa: S108  (read, never written)
MEMORY = re.compile(r"(?m)^\s*(\w+):\s+(\d{1,18}) kB")


def read_numa(answers: Answers) -> Maybe[tuple[NumaNode, ...]]:
    """All nodes by id: ids may have gaps, nodes may have no CPUs or no memory."""
    text = answers.text("processor.node-cpus")
    if isinstance(text, Unknown):
        told = parse_numactl(optional(answers, "processor.numactl"))
        return told or (one_node(answers) if text.why is Why.EMPTY else text)
    cpus: dict[int, tuple[int, ...]] = {}
    for node, kind, value in NODE_CPUS.findall(text):
        # The first line counts: old kernels end the file with a NUL.
        cpus.setdefault(int(node), parse_list(value) if kind == "cpulist" else parse_mask(value))
    totals = node_memory(answers, "MemTotal")
    allowed = optional(answers, "processor.node-allowed")
    usable = parse_list(allowed) if allowed.strip() else tuple(cpus)
    near = owners(answers, cpus)
    found = tuple(
        NumaNode(node, cpus[node], totals.get(node, 0), allowed=node in usable, near=near.get(node, ()))
        for node in sorted(cpus)
    )
    return found or Unknown(Why.UNREADABLE, "no NUMA node in /sys/devices/system/node")


def optional(answers: Answers, name: str) -> str:
    text = answers.text(name)
    return "" if isinstance(text, Unknown) else text


def owners(answers: Answers, cpus: Mapping[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """For each memory-only node the nodes whose CPUs it belongs to: as the firmware says, else the nearest.

    A node that is equally far from all belongs to none.
    """
    said: dict[int, dict[str, set[int]]] = {}
    for node, access, owner in INITIATOR.findall(optional(answers, "processor.node-initiators")):
        said.setdefault(int(node), {}).setdefault(access, set()).add(int(owner))
    rows = {int(node): row.split() for node, row in DISTANCES.findall(optional(answers, "processor.nodes"))}
    with_cpus = {node for node in cpus if cpus[node]}
    found = {}
    for node in cpus.keys() - with_cpus:
        by_access = said.get(node, {})
        told = by_access.get("1") or by_access.get("0") or nearest(rows.get(node, []), sorted(cpus), with_cpus)
        found[node] = tuple(sorted(told & with_cpus))
    return found


def nearest(row: list[str], ids: list[int], with_cpus: set[int]) -> set[int]:
    """`row`: distances to the nodes `ids`."""
    if len(row) != len(ids):
        return set()
    away = {node: int(distance) for node, distance in zip(ids, row, strict=True) if node in with_cpus}
    least = {node for node in away if away[node] == min(away.values())}
    return least if len(least) < len(with_cpus) or len(with_cpus) == 1 else set()


def one_node(answers: Answers) -> Maybe[tuple[NumaNode, ...]]:
    """A kernel without NUMA: all CPUs and all memory are near each other."""
    online = read_online(answers)
    if isinstance(online, Unknown):
        return online
    text = answers.text("processor.memory")
    memory = dict(MEMORY.findall("" if isinstance(text, Unknown) else text))
    return (NumaNode(0, online, int(memory.get("MemTotal", 0)) * 1024),)


def node_memory(answers: Answers, key: str) -> dict[int, int]:
    """Bytes by node id."""
    text = answers.text("processor.node-memory")
    lines = NODE_MEMORY.findall("" if isinstance(text, Unknown) else text)
    return {int(node): int(kilobytes) * 1024 for node, name, kilobytes in lines if name == key}


def read_memory(
    answers: Answers, numa: Maybe[tuple[NumaNode, ...]], file_systems: Maybe[tuple[FileSystem, ...]]
) -> Maybe[Memory]:
    """RAM without the nodes that have no CPUs: there /proc/meminfo counts the GPUs' HBM on Grace, and CXL memory."""
    text = answers.text("processor.memory")
    if isinstance(text, Unknown):
        return text
    values = {key: int(kilobytes) * 1024 for key, kilobytes in MEMORY.findall(text)}
    if "MemTotal" not in values:
        return Unknown(Why.UNREADABLE, "/proc/meminfo without MemTotal")
    strangers = [node for node in numa if not node.cpus] if is_known(numa) else []
    free = node_memory(answers, "MemFree")
    total = values["MemTotal"] - sum(node.memory_bytes for node in strangers)
    available = values.get("MemAvailable", values.get("MemFree", 0)) - sum(free.get(node.id, 0) for node in strangers)
    return Memory(
        total_bytes=max(0, total),
        available_bytes=max(0, min(available, total)),
        shm_bytes=shared_memory(file_systems),
    )


def shared_memory(file_systems: Maybe[tuple[FileSystem, ...]]) -> int:
    """Size of the file system at /dev/shm, 0 where there is none."""
    known = file_systems if is_known(file_systems) else ()
    return next((one.total_bytes for one in known if one.asked == one.mount == SHM), 0)


def parse_top(text: str) -> float | None:
    """MiB of memory in the head of `top`, as reports show it."""
    match = re.search(r"(?m)^MiB Mem\s*:\s*(\d{1,12}\.\d) total", text)
    return float(match[1]) if match else None
