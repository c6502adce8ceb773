"""Which vendor's GPUs a host has; "none" is said only when the bus was read and holds none."""

from __future__ import annotations

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.gpu.amd import read_amd
from inventory.facts.gpu.nvidia import read_nvidia
from inventory.facts.gpu.pci import AMD, NVIDIA, gpus_of, read_pci
from inventory.facts.host import Gpus, NumaNode
from inventory.facts.system import is_simulated

READERS = ((NVIDIA, "NVIDIA", read_nvidia), (AMD, "AMD", read_amd))


def read_gpus(answers: Answers, numa: Maybe[tuple[NumaNode, ...]]) -> Maybe[Gpus]:
    pci = read_pci(answers)
    devices = pci if is_known(pci) else ()
    nodes = numa if is_known(numa) else ()
    silent: list[Unknown] = []
    for vendor, name, read in READERS:
        found = read(answers, devices, nodes)
        if not isinstance(found, Unknown):
            return found
        on_bus = gpus_of(vendor, devices)
        if on_bus:
            silent.insert(0, Unknown(found.why, f"{len(on_bus)} {name} GPUs on the PCI bus; {found.detail}"))
        elif found.why not in {Why.MISSING_TOOL, Why.EMPTY, Why.UNREADABLE}:
            silent.append(found)
    if silent:
        return silent[0]
    if isinstance(pci, Unknown):
        return pci
    return Gpus(vendor="none", driver=None, runtime_ceiling=None, devices=(), simulated=is_simulated(answers))
