from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.gpu.pci import PciDevice, read_pci
from inventory.facts.lspci import parse_lspci
from inventory.facts.machine import Machine, parse_dmidecode, parse_soc, parse_tegra_release
from inventory.facts.system import machine_name
from tests.answered import answers

LSPCI = """0001:00:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)
0005:00:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:1af1] (rev a1)
0006:00:00.0 Processing accelerators [1200]: AMD Aqua Vanjaram [1002:74a1]
"""


def test_the_firmwares_name() -> None:
    text = "/sys/class/dmi/id/sys_vendor:Dell Inc.\n/sys/class/dmi/id/product_name:PowerEdge XE9680\n"
    assert machine_name(answers({"system.firmware": text})) == "Dell Inc. PowerEdge XE9680"


def test_the_boards_name_on_an_integrated_system() -> None:
    board = {
        "system.board": "NVIDIA Jetson AGX Thor Developer Kit\0",
        "system.soc": "nvidia,p4071-0000+p3834-0008\0nvidia,tegra264\0",
        "system.tegra": "# R38 (release), REVISION: 2.0, GCID: 1, BOARD: generic\n",
    }
    assert machine_name(answers(dict(board))) == "NVIDIA Jetson AGX Thor Developer Kit (tegra264, L4T 38.2.0)"
    assert machine_name(answers({})) == ""
    assert (parse_soc(""), parse_tegra_release("")) == (None, None)


def test_dmidecode() -> None:
    text = (
        "# dmidecode 3.3\nSystem Information\n\tManufacturer: Dell Inc.\n\tProduct Name: PowerEdge XE9680\n\nHandle 0\n"
    )
    assert parse_dmidecode(text) == Machine("Dell Inc.", "PowerEdge XE9680")
    assert parse_dmidecode("/dev/mem: Permission denied\n") is None


def test_lspci() -> None:
    gpu, bridge, amd = parse_lspci(LSPCI)
    assert (gpu.address, gpu.is_gpu, gpu.class_code, gpu.vendor, gpu.device) == (
        "0001:00:00.0",
        True,
        0x302,
        0x10DE,
        0x20B2,
    )
    assert (bridge.is_gpu, amd.is_gpu, amd.device) == (False, True, 0x74A1)
    assert parse_lspci("19:00.0 3D controller: NVIDIA Device 2330 (rev a1)\n\tNUMA node: 1\n")[0].numa_node == 1


def test_lspci_where_the_bus_is_not_in_sysfs() -> None:
    devices = read_pci(answers({"pci.devices": (1, "no such folder"), "pci.lspci": LSPCI}))
    assert not isinstance(devices, Unknown)
    assert devices[0] == PciDevice("00000001:00:00.0", 0x302, 0x10DE, 0x20B2, None)
    assert [one.is_gpu for one in devices] == [True, False, True]
