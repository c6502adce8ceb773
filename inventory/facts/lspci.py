"""`lspci`, plain or `-nn` or `-vvv`: what reports show of the PCI bus. On a host /sys/bus/pci is read instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

DEVICE = re.compile(
    r"^((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) (.+?)(?: \[([0-9a-f]{4})\])?: (.*)$", re.MULTILINE
)
NODE = re.compile(r"^\s+NUMA node: (\d{1,6})\s*$", re.MULTILINE)
GPU_KINDS = ("VGA compatible controller", "3D controller", "Display controller", "Processing accelerators")


@dataclass(frozen=True, slots=True)
class Listed:
    """`address` as printed, with or without its domain; `kind` is the class by name."""

    address: str
    kind: str
    text: str
    numa_node: int | None
    line: str

    @property
    def is_gpu(self) -> bool:
        return self.kind in GPU_KINDS


def parse_lspci(text: str) -> tuple[Listed, ...]:
    matches = list(DEVICE.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    return tuple(
        Listed(match[1], match[2], match[4].strip(), node_in(text[match.end() : end]), match[0].rstrip())
        for match, end in zip(matches, ends, strict=True)
    )


def node_in(details: str) -> int | None:
    match = NODE.search(details)
    return int(match[1]) if match else None
