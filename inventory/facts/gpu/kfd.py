"""The kernel's compute nodes, /sys/class/kfd/kfd/topology: what amdgpu itself knows, with no tool installed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.amd_gpu import AmdAnswer, AmdGpu
from inventory.facts.host import Link

LINE = re.compile(r"/nodes/(\d{1,4})/(?:(mem_banks|io_links)/(\d{1,4})/)?(gpu_id|name|properties):(.*)")
# The kernel calls every recent GPU "ip discovery"; libdrm's amdgpu.ids has the names, if it is installed.
MODELS = {
    0x738C: "AMD Instinct MI100",
    0x7408: "AMD Instinct MI250X",
    0x740C: "AMD Instinct MI250X / MI250",
    0x740F: "AMD Instinct MI210",
    0x74A0: "AMD Instinct MI300A",
    0x74A1: "AMD Instinct MI300X",
    0x74A2: "AMD Instinct MI308X",
    0x74A5: "AMD Instinct MI325X",
    0x74B5: "AMD Instinct MI300X VF",
    0x75A0: "AMD Instinct MI350X",
    0x75A3: "AMD Instinct MI355X",
}
LINK_KINDS = {2: "PCIe", 11: "XGMI"}  # HSA_IOLINKTYPE_PCIEXPRESS, _XGMI
VRAM_HEAPS = frozenset({1, 2})  # HSA_MEM_HEAP_TYPE_FB_PUBLIC, _FB_PRIVATE


@dataclass(slots=True)
class KfdNode:
    """A CPU or GPU node; `banks` and `links` hold the properties of each memory bank and io link."""

    id: int
    properties: dict[str, int] = field(default_factory=dict)
    banks: dict[str, dict[str, int]] = field(default_factory=dict)
    links: dict[str, dict[str, int]] = field(default_factory=dict)
    name: str = ""

    @property
    def is_gpu(self) -> bool:
        return self.properties.get("simd_count", 0) > 0

    @property
    def pci_address(self) -> str:
        """`location_id` is bus, device and function in 16 bits."""
        location = self.properties.get("location_id", 0)
        domain = self.properties.get("domain", 0)
        return f"{domain:08x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"

    @property
    def card(self) -> object:
        """What its partitions have in common: an id of the card where it has one, else its place on the bus."""
        return self.properties.get("unique_id") or self.pci_address.partition(".")[0]

    @property
    def gfx(self) -> str:
        """`gfx_target_version` 90402 is gfx942: two decimal digits each, the last two hexadecimal in the name."""
        version = self.properties.get("gfx_target_version", 0)
        return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"

    @property
    def memory_bytes(self) -> int | None:
        sizes = [bank.get("size_in_bytes", 0) for bank in self.banks.values() if bank.get("heap_type") in VRAM_HEAPS]
        return sum(sizes) or None


def parse_nodes(text: str) -> dict[int, KfdNode]:
    """From `path:line` of every file below nodes/."""
    nodes: dict[int, KfdNode] = {}
    for number, kind, index, file, rest in LINE.findall(text):
        node = nodes.setdefault(int(number), KfdNode(int(number)))
        if file == "name":
            node.name = node.name or rest.strip()
        elif file == "properties":
            store = {"mem_banks": node.banks, "io_links": node.links}.get(kind)
            add_property(node.properties if store is None else store.setdefault(index, {}), rest)
    return nodes


def add_property(properties: dict[str, int], line: str) -> None:
    key, _, number = line.strip().partition(" ")
    if number.isascii() and number.isdecimal() and len(number) < 21:
        properties[key] = int(number)


def near_cpu_node(node: KfdNode, nodes: Mapping[int, KfdNode]) -> int | None:
    """The CPU node that the lightest link leads to. CPU nodes are numbered as the NUMA nodes that have CPUs."""
    weights = [
        (link.get("weight", 0), link["node_to"])
        for link in node.links.values()
        if (to := nodes.get(link.get("node_to", -1))) and not to.is_gpu
    ]
    return min(weights)[1] if weights else None


def parse_gpu_links(text: str, addresses: Sequence[str]) -> tuple[Link, ...]:
    """Between the GPUs at `addresses` (by index), each pair once. An address that is there twice tells nothing."""
    nodes = parse_nodes(text)
    gpus = [node for node in nodes.values() if node.is_gpu]
    at = Counter(node.pci_address for node in gpus) + Counter(set(addresses))
    index = {
        node.id: addresses.index(node.pci_address)
        for node in gpus
        if at[node.pci_address] == 2 and addresses.count(node.pci_address) == 1
    }
    found = {
        (index[node.id], index[to]): LINK_KINDS[kind]
        for node in gpus
        for link in node.links.values()
        if node.id in index and (to := link.get("node_to", -1)) in index and (kind := link.get("type", 0)) in LINK_KINDS
    }
    return tuple(Link(a, b, kind) for (a, b), kind in sorted(found.items()) if a < b)


def parse_kfd(text: str) -> Maybe[AmdAnswer]:
    nodes = parse_nodes(text)
    gpus = tuple(
        AmdGpu(
            name=MODELS.get(node.properties.get("device_id", 0), node.name),
            uuid=f"{unique:#x}" if (unique := node.properties.get("unique_id", 0)) else "",
            memory_bytes=node.memory_bytes,
            pci_address=node.pci_address,
            numa_node=near_cpu_node(node, nodes),
            gfx=node.gfx,
        )
        for _, node in sorted(nodes.items())
        if node.is_gpu
    )
    return (
        AmdAnswer(driver=None, gpus=gpus)
        if gpus
        else Unknown(Why.UNREADABLE, "no GPU among the kernel's compute nodes")
    )
