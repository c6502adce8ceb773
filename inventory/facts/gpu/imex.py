"""The IMEX domain, as `nvidia-imex-ctl -N` (all nodes, who sees whom) or `-q` (this node alone) prints it."""

from __future__ import annotations

import re

from inventory.facts.answers import Item
from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import ImexDomain, ImexNode

NODE = re.compile(
    r"(?m)^\s*Node #(\d{1,4})\s+-\s+(\S+)(?:[ \t]+\([^)\n]*\))?\s+-\s+([A-Z_]+)(?:[ \t]*-[ \t]*Version:[ \t]*(\S*))?"
)
STATE = re.compile(r"(?m)^\s*Domain State:\s*(\w+)")
HEADER = re.compile(r"(?m)^[ \t]*Nodes From\\To[ \t]+(\d[\d \t]*)$")
ROW = re.compile(r"^\s*(\d{1,4})((?:\s+(?:![A-Z]!|[A-Z]))+)\s*$")
ALONE = re.compile(r"\s*([A-Z_]{2,20})\s*")
CONNECTED = "C"


def read_domain(item: Maybe[Item]) -> ImexDomain | None:
    """None where the tool is missing or its service takes no commands."""
    return None if isinstance(item, Unknown) or item.status else parse_domain(item.text)


def parse_domain(text: str) -> ImexDomain | None:
    """None where it is neither form."""
    state = STATE.search(text)
    nodes = tuple(
        ImexNode(int(index), address, said, version or None) for index, address, said, version in NODE.findall(text)
    )
    if state is None and not nodes:
        alone = ALONE.fullmatch(text)
        return ImexDomain(alone[1]) if alone else None
    return ImexDomain(state[1] if state else "", nodes, tuple(broken_pairs(text)))


def broken_pairs(text: str) -> list[tuple[int, int, str]]:
    """(from, to, symbol) of every cell that is not C."""
    header = HEADER.search(text)
    if header is None:
        return []
    columns = [int(word) for word in header[1].split()]
    found = []
    for line in text[header.end() :].splitlines():
        if match := ROW.match(line):
            cells = zip(columns, match[2].split(), strict=False)
            found += [(int(match[1]), to, cell) for to, cell in cells if cell != CONNECTED]
    return found
