"""NUMA nodes and the host's own memory, from /sys/devices/system/node and /proc/meminfo."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.cpulist import parse_list, parse_mask
from inventory.facts.host import FileSystem, Memory, NumaNode

NODE_CPUS = re.compile(r"/node(\d{1,6})/(cpulist|cpumap):(.*)")
NODE_MEMORY = re.compile(r"(?m)^Node (\d{1,6}) (MemTotal|MemFree):\s+(\d{1,18}) kB")
SHM = "/dev/shm"  # noqa: S108  (read, never written)
MEMORY = re.compile(r"(?m)^(\w+):\s+(\d{1,18}) kB")


def read_numa(answers: Answers) -> Maybe[tuple[NumaNode, ...]]:
    """All nodes by id: ids may have gaps, nodes may have no CPUs or no memory."""
    text = answers.text("processor.node-cpus")
    if isinstance(text, Unknown):
        return text
    totals = node_memory(answers, "MemTotal")
    nodes = (
        NumaNode(
            id=int(node),
            cpus=parse_list(value) if kind == "cpulist" else parse_mask(value),
            memory_bytes=totals.get(int(node), 0),
        )
        for node, kind, value in NODE_CPUS.findall(text)
    )
    found = tuple(sorted(nodes, key=lambda node: node.id))
    return found or Unknown(Why.EMPTY, "no NUMA node in /sys/devices/system/node")


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
