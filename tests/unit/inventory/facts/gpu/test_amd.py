from __future__ import annotations

import json

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.gpu.amd_smi import driver_version, parse_amd_smi
from inventory.facts.gpu.kfd import parse_gpu_links, parse_kfd, parse_nodes
from inventory.facts.gpu.none import read_gpus
from inventory.facts.gpu.rocm_smi import parse_rocm_smi
from inventory.facts.host import Gpus, Link, NumaNode
from tests.answered import Said, answers

NODES = (NumaNode(0, (0, 1), 1), NumaNode(1, (2, 3), 1))
STATIC = {
    "gpu": 0,
    "asic": {"market_name": "AMD Instinct MI300X", "asic_serial": "0x1", "target_graphics_version": "gfx942"},
    "bus": {"bdf": "0000:05:00.0"},
    "driver": {"version": "6.12.12"},
    "vram": {"size": {"value": 196592, "unit": "MB"}},
    "numa": {"node": 1, "affinity": -1},
}
MISSING: dict[str, Said] = {
    "nvidia.xml": (127, "nvidia-smi: not found"),
    "amd.list": (127, "amd-smi: not found"),
    "amd.static": (127, "amd-smi: not found"),
    "amd.rocm": (127, "rocm-smi: not found"),
    "amd.kfd": (1, "/sys/class/kfd/kfd/topology/nodes: No such file or directory"),
}
BUS = "0000:05:00.0 0x120000 0x1002 0x74a1 0\n"
NODE = "/sys/class/kfd/kfd/topology/nodes"


def known(items: dict[str, Said]) -> Gpus:
    found = read_gpus(answers({"pci.devices": BUS, **MISSING, **items}), NODES)
    assert not isinstance(found, Unknown)
    return found


@pytest.mark.parametrize("wrapped", [[STATIC], {"gpu_data": [STATIC]}])
def test_amd_smi_wraps_its_list_or_not(wrapped: object) -> None:
    found = known({"amd.static": json.dumps(wrapped)})
    (device,) = found.devices
    assert (found.vendor, found.driver) == ("amd", "6.12.12")
    assert (device.name, device.compute_capability) == ("AMD Instinct MI300X", "gfx942")
    assert (device.memory_bytes, device.pci_address) == (196592 << 20, "00000000:05:00.0")
    assert device.numa_node == 0  # the bus is asked first


def test_what_static_lacks_comes_from_the_list() -> None:
    static = {key: value for key, value in STATIC.items() if key != "bus"}
    listed = json.dumps([{"gpu": 0, "bdf": "0000:75:00.0", "uuid": "abc"}])
    answer = parse_amd_smi(json.dumps([static]), listed)
    assert not isinstance(answer, Unknown)
    assert (answer.gpus[0].pci_address, answer.gpus[0].uuid) == ("00000000:75:00.0", "abc")


def test_the_kernels_banner_is_no_driver_version() -> None:
    assert driver_version("Linuxversion6.8.0-79-generic(buildd@lcy02)") is None
    assert driver_version("6.16.6") == "6.16.6"


@pytest.mark.parametrize("series", ["Card series", "Card Series"])
def test_rocm_smi_changed_its_keys(series: str) -> None:
    text = "\n" + json.dumps(
        {
            "card10": {series: "MI210", "PCI Bus": "0000:63:00.0", "VRAM Total Memory (B)": "68702699520"},
            "card2": {series: "MI210", "PCI Bus": "0000:43:00.0", "(Topology) Numa Node": "1"},
            "system": {"Driver version": "6.7.0"},
        }
    )
    answer = parse_rocm_smi(text)
    assert not isinstance(answer, Unknown)
    assert answer.driver == "6.7.0"
    assert [one.pci_address for one in answer.gpus] == ["00000000:43:00.0", "00000000:63:00.0"]
    assert (answer.gpus[0].numa_node, answer.gpus[1].memory_bytes) == (1, 68702699520)


def kfd(number: int, **properties: int) -> str:
    return "".join(f"{NODE}/{number}/properties:{key} {value}\n" for key, value in properties.items())


KFD = (
    kfd(0, cpu_cores_count=64, simd_count=0)
    + kfd(1, cpu_cores_count=64, simd_count=0)
    + f"{NODE}/2/name:ip discovery\n"
    + kfd(2, simd_count=80, location_id=0x0A03, domain=1, gfx_target_version=90010, unique_id=255)
    + f"{NODE}/2/mem_banks/0/properties:heap_type 1\n{NODE}/2/mem_banks/0/properties:size_in_bytes 4096\n"
    + f"{NODE}/2/io_links/0/properties:node_to 0\n{NODE}/2/io_links/0/properties:weight 40\n"
    + f"{NODE}/2/io_links/1/properties:node_to 1\n{NODE}/2/io_links/1/properties:weight 20\n"
)


def test_the_kernel_knows_without_any_tool() -> None:
    (device,) = known({"amd.kfd": KFD, "pci.devices": ""}).devices
    assert (device.pci_address, device.numa_node) == ("00000001:0a:00.3", 1)
    assert (device.compute_capability, device.memory_bytes, device.uuid) == ("gfx90a", 4096, "0xff")


def test_cpu_nodes_are_no_gpus() -> None:
    assert [number for number, node in parse_nodes(KFD).items() if node.is_gpu] == [2]
    assert isinstance(parse_kfd(kfd(0, cpu_cores_count=64)), Unknown)


def linked(number: int, index: int, kind: int, to: int) -> str:
    link = f"{NODE}/{number}/io_links/{index}/properties"
    return f"{link}:type {kind}\n{link}:node_from {number}\n{link}:node_to {to}\n{link}:weight 15\n"


MESH = (
    kfd(0, cpu_cores_count=64, simd_count=0)
    + kfd(1, simd_count=304, location_id=0x0500)
    + kfd(2, simd_count=304, location_id=0x2600)
    + kfd(3, simd_count=304, location_id=0x4600)
    + "".join(linked(node, 0, 2, 0) for node in (1, 2, 3))
    + linked(1, 1, 11, 2)
    + linked(2, 1, 11, 1)
    + linked(2, 2, 2, 3)
    + linked(3, 1, 2, 2)
    + linked(3, 2, 99, 1)  # of a kind that we do not know
)


def test_links_between_gpus_by_the_kernel() -> None:
    assert known({"amd.kfd": MESH, "pci.devices": ""}).links == (Link(0, 1, "XGMI"), Link(1, 2, "PCIe"))


def test_links_follow_the_tools_order_not_the_kernels() -> None:
    addresses = ["00000000:46:00.0", "00000000:26:00.0", "00000000:05:00.0"]
    assert parse_gpu_links(MESH, addresses) == (Link(0, 1, "PCIe"), Link(1, 2, "XGMI"))


@pytest.mark.parametrize("addresses", [[], ["", ""], ["00000000:05:00.0"] * 2, ["00000000:05:00.0", "elsewhere"]])
def test_gpus_that_cannot_be_told_apart_have_no_links(addresses: list[str]) -> None:
    assert parse_gpu_links(MESH, addresses) == ()


def test_cards_without_a_driver_are_unknown() -> None:
    found = read_gpus(answers({"pci.devices": BUS, **MISSING}), NODES)
    assert isinstance(found, Unknown)
    assert found.why is Why.MISSING_TOOL
    assert found.detail.startswith("1 AMD GPUs on the PCI bus; neither amd-smi nor rocm-smi")


def test_refused_is_told() -> None:
    items = {**MISSING, "amd.static": (1, "open /dev/kfd: Permission denied"), "pci.devices": BUS}
    found = read_gpus(answers(items), NODES)
    assert isinstance(found, Unknown)
    assert found.why is Why.REFUSED


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"gpu_data": 3}', '[{"gpu": "x"}]', "[[[["])
def test_what_is_no_answer(text: str) -> None:
    assert isinstance(parse_amd_smi(text, text), Unknown)
    assert isinstance(parse_rocm_smi(text), Unknown)
