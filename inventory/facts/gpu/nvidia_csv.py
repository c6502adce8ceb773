"""`nvidia-smi --query-gpu=... --format=csv` and `-L`: what older drivers and cut-down builds still answer."""

from __future__ import annotations

import csv
import re

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.nvidia_xml import NvidiaAnswer, NvidiaGpu, pci_address
from inventory.facts.gpu.quantity import parse_bytes, told

LISTED = re.compile(r"(?m)^GPU (\d{1,3}): (.+?) \(UUID: ([^)]+)\)\s*$")


def parse_rows(text: str) -> list[dict[str, str]]:
    """Rows by column name without its unit: `memory.total [MiB]` → `memory.total`. Short rows are left out."""
    lines = [line for line in text.splitlines() if line.strip()]
    table = list(csv.reader(lines, skipinitialspace=True))
    if not table:
        return []
    header = [name.partition(" [")[0].strip() for name in table[0]]
    return [
        dict(zip(header, (cell.strip() for cell in row), strict=True)) for row in table[1:] if len(row) == len(header)
    ]


def parse_csv(text: str) -> Maybe[NvidiaAnswer]:
    rows = [row for row in parse_rows(text) if {"name", "pci.bus_id"} <= set(row)]
    if not rows:
        return Unknown(Why.UNREADABLE, "no table of nvidia-smi")
    return NvidiaAnswer(
        driver=told(rows[0].get("driver_version", "")),
        cuda=None,
        gpus=tuple(
            NvidiaGpu(
                name=row["name"],
                uuid=row.get("uuid", ""),
                memory_bytes=parse_bytes(row.get("memory.total", ""), unit="MiB"),
                pci_address=pci_address(row["pci.bus_id"]),
                mig_enabled=None,
            )
            for row in rows
        ),
    )


def parse_capabilities(text: str) -> dict[str, str]:
    """Compute capability by PCI address."""
    rows = parse_rows(text)
    pairs = ((pci_address(row.get("pci.bus_id", "")), told(row.get("compute_cap", ""))) for row in rows)
    return {address: capability for address, capability in pairs if address and capability}


def parse_listing(text: str) -> Maybe[NvidiaAnswer]:
    """`GPU 0: NVIDIA H200 (UUID: GPU-...)`; the indented lines between are MIG slices."""
    gpus = tuple(
        NvidiaGpu(name=name, uuid=uuid, memory_bytes=None, pci_address="", mig_enabled=None)
        for _, name, uuid in LISTED.findall(text)
    )
    return NvidiaAnswer(driver=None, cuda=None, gpus=gpus) if gpus else Unknown(Why.UNREADABLE, "no list of GPUs")
