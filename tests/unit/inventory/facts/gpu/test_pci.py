from __future__ import annotations

import pytest

from inventory.facts.base import Unknown
from inventory.facts.gpu.pci import NVIDIA, PciDevice, gpus_of, normalise, read_bus_gpus, read_pci
from inventory.facts.host import BusGpu
from tests.answered import answers


@pytest.mark.parametrize(
    ("address", "normal"),
    [
        ("0000:1B:00.0", "00000000:1b:00.0"),
        ("00000008:01:00.0", "00000008:01:00.0"),
        ("0008:01:00.0", "00000008:01:00.0"),
        ("00008ED0:00:00.0", "00008ed0:00:00.0"),
        ("01:00.0", "00000000:01:00.0"),
        (" 0000000F:01:00.0\n", "0000000f:01:00.0"),
    ],
)
def test_one_form_for_every_tool(address: str, normal: str) -> None:
    assert normalise(address) == normal


@pytest.mark.parametrize("address", ["", "N/A", "GPU0", "0000:01:00", "0000:01:00.8", "000000000:01:00.0"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="PCI"):
        normalise(address)


def test_switches_and_bridges_of_the_vendor_are_no_gpus() -> None:
    devices = read_pci(
        answers(
            {
                "pci.devices": (
                    "0000:1b:00.0 0x030200 0x10de 0x2335 0\n"
                    "0000:05:00.0 0x068000 0x10de 0x22a3 0\n"
                    "0000:03:00.0 0x030000 0x1a03 0x2000 -1\n"
                    "0000:18:00.0 0x020700 0x15b3 0x1021 1\n"
                    "garbage\n"
                )
            }
        )
    )
    assert not isinstance(devices, Unknown)
    assert len(devices) == 4
    assert gpus_of(NVIDIA, devices) == (PciDevice("00000000:1b:00.0", 0x0302, 0x10DE, 0x2335, 0),)
    assert devices[2].numa_node is None


def test_no_bus_is_unknown_and_an_empty_bus_is_not() -> None:
    assert isinstance(read_pci(answers({"pci.devices": (1, "/sys/bus/pci/devices: no such folder")})), Unknown)
    assert read_pci(answers({"pci.devices": ""})) == ()


def test_gpus_are_told_by_the_bus_where_no_driver_is() -> None:
    """An accelerator of AMD and a bridge beside it; a display chip of the board is nobody's GPU."""
    said = (
        "0000:05:00.0 0x120000 0x1002 0x75a3 0\n"
        "0000:15:00.0 0x030200 0x10de 0x2941 1\n"
        "0000:03:00.0 0x030000 0x1a03 0x2000 -1\n"
        "0000:18:00.0 0x020700 0x15b3 0x1021 1\n"
    )
    assert read_bus_gpus(answers({"pci.devices": said})) == (
        BusGpu("00000000:05:00.0", "amd", "75a3"),
        BusGpu("00000000:15:00.0", "nvidia", "2941"),
    )
    assert read_bus_gpus(answers({"pci.devices": ""})) == ()
    assert isinstance(read_bus_gpus(answers({"pci.devices": (1, "no such folder")})), Unknown)
