"""`lspci`, plain or `-nn` or `-vvv`: what reports show of the PCI bus. On a host /sys/bus/pci is read instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

DEVICE = re.compile(
    r"^((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) (.+?)(?: \[([0-9a-f]{4})\])?: (.*)$", re.MULTILINE
)
IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\](?: \(rev [0-9a-f]+\))?(?: \(prog-if .*\))?\s*$")
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
    class_code: int | None = None  # these three with -nn only
    vendor: int | None = None
    device: int | None = None

    @property
    def is_gpu(self) -> bool:
        return self.kind in GPU_KINDS


def parse_lspci(text: str) -> tuple[Listed, ...]:
    matches = list(DEVICE.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return tuple(listed(match, text[match.end() : end]) for match, end in zip(matches, ends, strict=False))


def listed(match: re.Match[str], details: str) -> Listed:
    ids = IDS.search(match[4])
    return Listed(
        address=match[1],
        kind=match[2],
        text=match[4].strip(),
        numa_node=node_in(details),
        line=match[0].rstrip(),
        class_code=int(match[3], 16) if match[3] else None,
        vendor=int(ids[1], 16) if ids else None,
        device=int(ids[2], 16) if ids else None,
    )


def node_in(details: str) -> int | None:
    match = NODE.search(details)
    return int(match[1]) if match else None
