"""The table of plain `nvidia-smi`: what people paste. It cuts names, so nothing is decided by it where more is told."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu, pci_address
from inventory.facts.gpu.quantity import told

TOOL = re.compile(r"NVIDIA-SMI (?:version\s*:\s*)?([0-9][0-9.]*)")
DRIVER = re.compile(r"(?:Driver|KMD) Version\s*:\s*([^\s|]+)")
CUDA = re.compile(r"CUDA (?:UMD )?Version\s*:\s*([^\s|]+(?: Found)?)")
FIRST = re.compile(
    r"\|\s*(\d{1,3})\s+(.+?)\s+(On|Off|N/A|ERR!|TCC|WDDM|MCDM)\s*\|\s*"
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]|N/A)\s+"
)
MEMORY = re.compile(r"\|.*?\s(\S+)\s+/\s[^|]*\|\s*(?:[0-9]+\s*MiB\s*/\s*([0-9]+\s*MiB)|([^|]*?))\s*\|")
POWER = re.compile(r"[0-9.]+W")
CUT = "..."


@dataclass(frozen=True, slots=True)
class Row:
    """A GPU's two lines. `memory_note`: what stands where the memory should. `power`: None where it is an error."""

    index: int
    gpu: NvidiaGpu
    memory_note: str | None
    power: str | None

    @property
    def name_is_cut(self) -> bool:
        return self.gpu.name.endswith(CUT)


def parse_table(text: str) -> Maybe[NvidiaAnswer]:
    found = rows(text)
    if not found:
        return Unknown(Why.UNREADABLE, "no GPU in the table of nvidia-smi")
    driver, cuda = DRIVER.search(text), CUDA.search(text)
    return NvidiaAnswer(
        driver=told(driver[1]) if driver else None,
        cuda=told(cuda[1]) if cuda else None,
        gpus=tuple(row.gpu for row in found),
    )


def tool_version(text: str) -> str | None:
    match = TOOL.search(text)
    return match[1] if match else None


def rows(text: str) -> list[Row]:
    """The GPUs, in the table's order; the tables of MIG slices and processes below have other columns."""
    found: list[Row] = []
    lines = text.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        match = FIRST.match(line.strip())
        if match:
            gpu = NvidiaGpu(name=match[2].strip(), pci_address=pci_address(match[4]))
            found.append(with_memory(int(match[1]), gpu, below.strip()))
    return found


def with_memory(index: int, gpu: NvidiaGpu, line: str) -> Row:
    match = MEMORY.match(line)
    if match is None:
        return Row(index, gpu, memory_note=None, power=None)
    power = match[1] if POWER.fullmatch(match[1]) else None
    return Row(index, replace(gpu, memory=match[2]), memory_note=match[3] or None, power=power)
