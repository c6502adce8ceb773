"""`amd-smi` as text: an outline of `KEY: value`, and tables of GPUs by PCI address."""

from __future__ import annotations

import re

GPU = re.compile(r"GPU:\s*(\d{1,3})\s*")
ADDRESS = r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
TABLE = re.compile(rf"^([A-Z_ ]+?)(?: ?TABLE|_TABLE):\s*\n\s+(.*)\n((?:{ADDRESS}.*\n?)+)", re.MULTILINE)
Path = tuple[str, ...]


def parse_outline(text: str) -> dict[int, dict[Path, str]]:
    """By GPU: the value at each path of keys, such as `("VRAM", "SIZE")`."""
    gpus: dict[int, dict[Path, str]] = {}
    path: list[tuple[int, str]] = []
    current: dict[Path, str] | None = None
    for line in text.splitlines():
        if match := GPU.fullmatch(line):
            current, path = gpus.setdefault(int(match[1]), {}), []
            continue
        key, colon, value = line.strip().partition(":")
        if current is None or not colon or not line.startswith(" "):
            continue
        indent = len(line) - len(line.lstrip())
        path = [*(step for step in path if step[0] < indent), (indent, key)]
        if value.strip():
            current.setdefault(tuple(name for _, name in path), value.strip())
    return gpus


def parse_tables(text: str) -> dict[str, dict[str, dict[str, str]]]:
    """By table (`ACCESS`, `NIC_LINK_TYPE`), row and column; rows and columns are mostly PCI addresses."""
    return {
        name.strip().rstrip("_"): {
            row[0]: dict(zip(re.split(r"\s{2,}|(?<=[0-7])\s", header.strip()), row[1:], strict=False))
            for row in (re.split(r"\s+", line.strip()) for line in rows.splitlines())
        }
        for name, header, rows in TABLE.findall(text)
    }


def gpu_nodes(tables: dict[str, dict[str, dict[str, str]]]) -> dict[str, int]:
    """NUMA node of each GPU: that of a NIC to which its link is `NUMA` or `PCIE` (`X_NUMA` leads to another node)."""
    nics = tables.get("NIC_NUMA", {})
    nodes = {nic: int(row["NUMA"]) for nic, row in nics.items() if row.get("NUMA", "").isdecimal()}
    links = tables.get("NIC_LINK_TYPE", {})
    return {
        gpu: nodes[nic]
        for nic, row in links.items()
        if nic in nodes
        for gpu, link in row.items()
        if link in {"NUMA", "PCIE"}
    }
