"""Which machine this is: the firmware's name of it, or the board's on integrated systems without a PCI GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

RELEASE = re.compile(r"# R(\d+) \(release\), REVISION: (\d+(?:\.\d+)*)")
SOC = re.compile(r"tegra\d{3}")
SECTION = re.compile(r"^System Information\s*\n((?:[ \t]+.*\n?)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Machine:
    manufacturer: str
    product: str


def parse_dmidecode(text: str) -> Machine | None:
    """The system section of dmidecode."""
    section = SECTION.search(text)
    if section is None:
        return None
    fields = dict(re.findall(r"^\s+([^:\n]+): (.*?)\s*$", section[1], re.MULTILINE))
    return Machine(fields.get("Manufacturer", ""), fields.get("Product Name", ""))


def parse_board(model: str) -> str:
    """/proc/device-tree/model, which ends with NUL."""
    return model.replace("\0", " ").strip()


def parse_soc(compatible: str) -> str | None:
    """`tegra264` in /proc/device-tree/compatible."""
    match = SOC.search(compatible)
    return match[0] if match else None


def parse_tegra_release(text: str) -> str | None:
    """`38.2.0` in /etc/nv_tegra_release."""
    match = RELEASE.search(text)
    return f"{match[1]}.{match[2]}" if match else None
