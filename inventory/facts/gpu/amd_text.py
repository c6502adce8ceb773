"""`amd-smi` as text: an outline of `KEY: value`, and tables of GPUs by PCI address."""

from __future__ import annotations

import re

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.amd_gpu import AmdAnswer, AmdGpu
from inventory.facts.gpu.amd_smi import address, driver_version
from inventory.facts.gpu.quantity import parse_bytes, told

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


def parse_amd_text(text: str) -> Maybe[AmdAnswer]:
    """`amd-smi static`: the fields have the names of its JSON, in capitals."""
    gpus = tuple(outline_gpu(values) for _, values in sorted(parse_outline(text).items()))
    drivers = (values.get(("DRIVER", "VERSION"), "") for values in parse_outline(text).values())
    version = next(filter(None, map(driver_version, drivers)), None)
    return AmdAnswer(version, gpus) if gpus else Unknown(Why.UNREADABLE, "no GPU in the answer of amd-smi static")


def outline_gpu(values: dict[Path, str]) -> AmdGpu:
    node = values.get(("NUMA", "NODE"), "")
    return AmdGpu(
        name=told(values.get(("ASIC", "MARKET_NAME"), "")) or "",
        uuid=told(values.get(("ASIC", "ASIC_SERIAL"), "")) or "",
        memory_bytes=parse_bytes(values.get(("VRAM", "SIZE"), "")),
        pci_address=address(values.get(("BUS", "BDF"), "")),
        numa_node=int(node) if node.isdecimal() else None,
        gfx=told(values.get(("ASIC", "TARGET_GRAPHICS_VERSION"), "")),
    )


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
