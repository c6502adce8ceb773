"""`numactl -H`: nodes with their CPUs and memory, as reports show them."""

from __future__ import annotations

import re

from inventory.facts.cpulist import parse_list
from inventory.facts.host import NumaNode

CPUS = re.compile(r"^node (\d{1,6}) cpus:((?:[ \t]*[\d, \t-]*(?:\(\d+\))?\n?(?=[ \t]*[\d\n]|\Z|[a-z]))+)", re.MULTILINE)
SIZE = re.compile(r"^node (\d{1,6}) size:\s*(\d{1,12}) MB", re.MULTILINE)


def parse_numactl(text: str) -> tuple[NumaNode, ...]:
    """By id. CPUs may be hard-wrapped over lines or come as ranges `0-15 (16)`."""
    sizes = {int(node): int(megabytes) << 20 for node, megabytes in SIZE.findall(text)}
    try:
        nodes = [NumaNode(int(node), node_cpus(cpus), sizes.get(int(node), 0)) for node, cpus in CPUS.findall(text)]
    except ValueError:
        return ()
    return tuple(sorted(nodes, key=lambda node: node.id))


def node_cpus(text: str) -> tuple[int, ...]:
    words = re.sub(r"\(\d+\)", "", text).split()
    return parse_list(",".join(words))
