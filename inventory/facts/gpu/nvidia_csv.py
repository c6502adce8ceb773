"""`nvidia-smi --query-gpu=... --format=csv` and `-L`: what older drivers and cut-down builds still answer."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu, pci_address
from inventory.facts.gpu.nvidia_xml import SLOWDOWNS
from inventory.facts.gpu.quantity import told

UNCORRECTED = "ecc.errors.uncorrected.volatile.total"
HEADS = ("clocks_event_reasons", "clocks_throttle_reasons")
REASONS = tuple((name, f"{head}.{name}") for head in HEADS for name in SLOWDOWNS)
LISTED = re.compile(r"(?m)^GPU \d{1,3}: (.+?) \(UUID: ([^)]+)\)[ \t]*$")
HEADER = re.compile(
    r"\b(?:name|index|uuid|pid|gpu_[a-z_]+|driver_version|compute_cap|vbios_version|[a-z_]+\.[a-z_.]+)\b"
)
COLUMN = re.compile(r"[a-z][A-Za-z0-9_.]*(?: \[\S+\])?")
NAME = re.compile(r"NVIDIA|GeForce|Tesla|Quadro|GRID|TITAN|RTX|GTX")
SLICE = re.compile(r"(?m)^\s+MIG (\S+)\s+Device\s+\d+:")


def parse_rows(text: str) -> list[dict[str, str]]:
    """Rows by column name without its unit: `memory.total [MiB]` → `memory.total`. Short rows are left out."""
    table = cells_of(text)
    start = next((at for at, row in enumerate(table) if is_header(row)), len(table))
    header = [name.partition(" [")[0] for name in table[start]] if table[start:] else []
    return [dict(zip(header, row, strict=True)) for row in table[start + 1 :] if len(row) == len(header)]


def is_header(row: list[str]) -> bool:
    return all(map(COLUMN.fullmatch, row)) and any(map(HEADER.search, row))


def cells_of(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    return [[cell.strip() for cell in row] for row in csv.reader(lines, skipinitialspace=True)]


def parse_csv(text: str) -> Maybe[NvidiaAnswer]:
    rows = [row for row in parse_rows(text) if {"name", "pci.bus_id"} <= set(row)]
    if not rows:
        return Unknown(Why.UNREADABLE, "no table of nvidia-smi")
    return NvidiaAnswer(
        driver=told(rows[0].get("driver_version", "")),
        cuda=None,
        gpus=tuple(map(read_row, rows)),
    )


def read_row(row: Mapping[str, str]) -> NvidiaGpu:
    """A GPU of --query-gpu, whichever columns were asked for; units of memory as nvidia-smi prints them (MiB)."""
    return NvidiaGpu(
        name=row.get("name", ""),
        uuid=row.get("uuid", ""),
        memory=row.get("memory.total"),
        free=row.get("memory.free"),
        pci_address=pci_address(row.get("pci.bus_id", "")),
        mig_mode=row.get("mig.mode.current"),
        addressing_mode=row.get("addressing_mode"),
        recovery_action=row.get("gpu_recovery_action"),
        remap_pending=row.get("remapped_rows.pending"),
        remap_failure=row.get("remapped_rows.failure"),
        remapped_rows=row.get("remapped_rows.uncorrectable"),
        uncorrectable=tuple(row[name] for name in (UNCORRECTED,) if name in row),
        slowdowns=tuple((name, row[key]) for name, key in REASONS if key in row),
        fabric_state=row.get("fabric.state"),
        fabric_status=row.get("fabric.status"),
        fabric_clique=row.get("fabric.cliqueId"),
        fabric_cluster=row.get("fabric.clusterUuid"),
        power_limit=row.get("power.limit"),
        clock_max=row.get("clocks.max.sm"),
        vbios=row.get("vbios_version"),
    )


def parse_capabilities(text: str) -> dict[str, str]:
    """Compute capability by PCI address."""
    rows = parse_rows(text)
    pairs = ((pci_address(row.get("pci.bus_id", "")), told(row.get("compute_cap", ""))) for row in rows)
    return {address: capability for address, capability in pairs if address and capability}


def parse_listing(text: str) -> Maybe[NvidiaAnswer]:
    """`GPU 0: NVIDIA H200 (UUID: GPU-...)`; the indented lines below one are its MIG slices."""
    parts = LISTED.split(text)[1:]
    gpus = []
    for name, uuid, below in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        profiles = tuple(SLICE.findall(below))
        gpus.append(NvidiaGpu(name=name, uuid=uuid, pci_address="", mig_devices=len(profiles), mig_profiles=profiles))
    return NvidiaAnswer(None, None, tuple(gpus)) if gpus else Unknown(Why.UNREADABLE, "no list of GPUs")


def parse_table_of(text: str) -> list[dict[str, str]]:
    """Rows of a table whose header may be missing (`--format=csv,noheader`): then only what a cell shows by itself."""
    table = cells_of(text)
    return parse_rows(text) if any(map(is_header, table)) else [row for cells in table if (row := unnamed(cells))]


def unnamed(cells: list[str]) -> dict[str, str]:
    row: dict[str, str] = {"index": cells[0]} if cells[0].isdecimal() else {}
    for cell in cells:
        if pci_address(cell):
            row.setdefault("pci.bus_id", cell)
        elif NAME.search(cell):
            row.setdefault("name", cell)
        elif told(cell) is None:
            row.setdefault("untold", cell)
    return row
