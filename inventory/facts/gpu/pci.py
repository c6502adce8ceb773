"""GPUs as the PCI bus has them: there whether a driver is loaded or not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import BusGpu
from inventory.facts.lspci import parse_lspci

NVIDIA, AMD = 0x10DE, 0x1002
VENDORS = {NVIDIA: "nvidia", AMD: "amd"}
SWITCH_CLASS = 0x0680
ADDRESS = re.compile(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\.([0-7])")
# VGA, 3D and display controllers, and AMD Instinct's "processing accelerator". NVIDIA's switches are 06xx.
GPU_CLASSES = frozenset({0x0300, 0x0302, 0x0380, 0x1200})


@dataclass(frozen=True, slots=True)
class PciDevice:
    """`address` is normalised; `numa_node` is None where the firmware does not tell (-1)."""

    address: str
    class_code: int  # base class and sub-class: 0x0302
    vendor: int
    device: int
    numa_node: int | None

    @property
    def is_gpu(self) -> bool:
        return self.class_code in GPU_CLASSES


def normalise(address: str) -> str:
    """`0000:01:00.0`, `00000000:01:00.0` and `01:00.0` are one device: lower case, 8 digits of domain.

    Raises `ValueError` for what is no PCI address.
    """
    match = ADDRESS.fullmatch(address.strip())
    if match is None:
        raise ValueError(f"not a PCI address: {address[:40]!r}")
    domain, bus, device, function = match.groups(default="0")
    return f"{int(domain, 16):08x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function}"


def read_pci(answers: Answers) -> Maybe[tuple[PciDevice, ...]]:
    """GPUs, NICs and NVIDIA's switches on the bus; a host may have none of them."""
    item = answers.item("pci.devices")
    if isinstance(item, Unknown):
        return item
    if item.status != 0:
        listed = answers.text("pci.lspci")
        return item.reason if isinstance(listed, Unknown) else from_lspci(listed)
    return tuple(device for line in item.text.splitlines() if (device := pci_device(line)))


def from_lspci(text: str) -> tuple[PciDevice, ...]:
    """`lspci -D -nn`, which tells no NUMA node."""
    return tuple(
        PciDevice(normalise(one.address), one.class_code, one.vendor, one.device, one.numa_node)
        for one in parse_lspci(text)
        if one.class_code is not None and one.vendor is not None and one.device is not None
    )


def pci_device(line: str) -> PciDevice | None:
    """`0000:01:00.0 0x030200 0x10de 0x2941 0`."""
    words = line.split()
    try:
        address, class_code, vendor, device, node = words
        return PciDevice(
            address=normalise(address),
            class_code=int(class_code, 16) >> 8,
            vendor=int(vendor, 16),
            device=int(device, 16),
            numa_node=int(node) if int(node) >= 0 else None,
        )
    except ValueError:
        return None


def switches_of(devices: Iterable[PciDevice]) -> int:
    """NVSwitches: bridges of NVIDIA that are no PCI bridges."""
    return sum(one.vendor == NVIDIA and one.class_code == SWITCH_CLASS for one in devices)


def gpus_of(vendor: int, devices: Iterable[PciDevice]) -> tuple[PciDevice, ...]:
    """The vendor's GPUs (the script left virtual functions out)."""
    return tuple(one for one in devices if one.is_gpu and one.vendor == vendor)


def read_bus_gpus(answers: Answers) -> Maybe[tuple[BusGpu, ...]]:
    pci = read_pci(answers)
    if isinstance(pci, Unknown):
        return pci
    return tuple(
        BusGpu(one.address, VENDORS[one.vendor], f"{one.device:04x}")
        for one in pci
        if one.is_gpu and one.vendor in VENDORS
    )
