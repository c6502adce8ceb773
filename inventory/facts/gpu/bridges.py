"""The PCI bridges above GPUs and their access control (ACS), by `lspci -vv` and the paths of /sys/devices."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.nvidia_gpu import pci_address
from inventory.facts.host import Bridge

ABOVE = re.compile(r"/([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?=/)")
DEVICE = re.compile(r"(?m)^((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\b")
CONTROL = re.compile(r"ACSCtl:\s*(.*)")
ON = re.compile(r"(\w+)\+")


def read_bridges(answers: Answers) -> Maybe[tuple[Bridge, ...]]:
    """Unknown where the capabilities may not be read: then every line says so instead."""
    paths, said = answers.text("bridges.paths"), answers.text("bridges.acs")
    if isinstance(said, Unknown):
        return said
    if isinstance(paths, Unknown):
        return paths
    if "ACSCtl" not in said and "access denied" in said:
        return Unknown(Why.REFUSED, "lspci: the capabilities of bridges are for root")
    above = {pci_address(address) for line in paths.splitlines() for address in ABOVE.findall(line)}
    return tuple(one for one in parse_bridges(said) if one.address in above)


def parse_bridges(text: str) -> tuple[Bridge, ...]:
    """Every device of `lspci -vv` (or -vvv) that has access control."""
    parts = DEVICE.split(text)
    pairs = zip(parts[1::2], parts[2::2], strict=False)
    found = ((address, CONTROL.search(body)) for address, body in pairs)
    return tuple(Bridge(pci_address(address), tuple(ON.findall(match[1]))) for address, match in found if match)
