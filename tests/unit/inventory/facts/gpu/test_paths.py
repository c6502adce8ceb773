from __future__ import annotations

import pytest

from inventory.facts.gpu.paths import distance, nic_links, parse_places
from inventory.facts.gpu.pci import PciDevice
from inventory.facts.host import Gpus, Link
from tests.answered import answers, facts, fixture

TOP = "/sys/devices/pci0000:00/0000:00:01.1"
GPU = f"{TOP}/0000:01:00.0/0000:02:00.0/0000:05:00.0"
OTHER_ROOT = "/sys/devices/pci0000:80/0000:80:01.1/0000:81:00.0"


@pytest.mark.parametrize(
    ("nic", "kind"),
    [
        (f"{TOP}/0000:01:00.0/0000:02:01.0/0000:06:00.0", "PIX"),  # another port of the same switch
        (f"{TOP}/0000:01:00.0/0000:02:01.0/0000:07:00.0/0000:08:00.0/0000:09:00.0", "PXB"),  # a switch below it
        ("/sys/devices/pci0000:00/0000:00:03.1/0000:0a:00.0", "PHB"),  # another port of the host bridge
        ("/sys/devices/pci0000:00/0000:00:05.0", "PHB"),
        ("/sys/devices/pci0000:80/0000:80:01.1/0000:82:00.0", "NODE"),
        (OTHER_ROOT, "SYS"),
        ("/sys/devices/pci0000:a0/0000:a0:01.0/0000:a1:00.0", ""),  # its node is not told
    ],
)
def test_distances(nic: str, kind: str) -> None:
    (gpu,), (other,) = parse_places(GPU), parse_places(nic)
    nodes = {"00000000:05:00.0": 0, "00000000:82:00.0": 0, "00000000:81:00.0": 1}
    assert distance(gpu, other, nodes) == kind
    assert distance(other, gpu, nodes) == kind


def test_a_guest_has_no_bridges() -> None:
    """A hypervisor puts all devices on its one root bus; the tool of NVIDIA says PHB there."""
    gpu, nic = parse_places("/sys/devices/pci0000:00/0000:00:05.0\n/sys/devices/pci0000:00/0000:00:06.0\n")
    assert distance(gpu, nic, {}) == "PHB"


def test_links_of_partitions_and_of_devices_without_a_place() -> None:
    said = answers(
        {
            "bridges.paths": f"{GPU}\n",
            "rdma.paths": f"{OTHER_ROOT}/infiniband/ionic_10\n{TOP}/0000:03:00.0/infiniband/ionic_2\n"
            "/sys/devices/virtual/infiniband/rxe0\n",
        }
    )
    pci = [PciDevice("00000000:05:00.0", 0x1200, 0x1002, 0x74A1, 0)]
    found = nic_links(said, ["00000000:05:00.0", "00000000:05:00.1", ""], pci)
    assert found == (Link(0, "ionic_2", "PIX"), Link(1, "ionic_2", "PIX"))


def test_the_board_with_a_nic_beside_each_gpu() -> None:
    gpus = facts(fixture("mi355x-8x")).gpus
    assert isinstance(gpus, Gpus)
    assert [[link.to for link in gpus.nearest_nics(index)] for index in range(8)] == [[f"ionic_{n}"] for n in range(8)]
    assert {link.kind for link in gpus.links if link.gpu == 0 and link.to == "ionic_7"} == {"SYS"}
    assert {link.kind for link in gpus.links if link.gpu == 0 and link.to == "ionic_1"} == {"NODE"}


def test_nothing_is_told() -> None:
    assert nic_links(answers({}), ["00000000:05:00.0"], []) == ()
