"""Simulated hardware as files in the kernel's own formats: what /sys and /proc would say on such a host."""

from __future__ import annotations

from collections.abc import Iterator

from inventory.lab import kfd
from inventory.lab.profile import Gpus, Hardware, Nic, Node

Files = Iterator[tuple[str, str]]
"""Path below the sysroot, content."""

GID_TYPES = {"InfiniBand": ("IB/RoCE v1",), "Ethernet": ("IB/RoCE v1", "RoCE v2")}
NVIDIA, THREE_D_CONTROLLER = "0x10de", "0x030200"
AMD, ACCELERATOR = "0x1002", "0x120000"


def files(hardware: Hardware) -> Files:
    yield from _processors(hardware)
    yield from _nodes(hardware)
    yield "proc/meminfo", _meminfo(hardware.nodes)
    yield "proc/cpuinfo", f"{hardware.cpuinfo.rstrip()}\n\n"
    if hardware.gpus:
        yield from _gpus(hardware.gpus)
    if hardware.cards:
        yield from kfd.files(hardware.cards, [node for node in hardware.nodes if node.cpus])
        for device in hardware.cards.devices:
            yield from _pci(device.pci, ACCELERATOR, AMD, f"0x{hardware.cards.device_id}", device.node)
    for nic in hardware.nics:
        yield from _nic(nic)


def cpu_list(text: str) -> list[int]:
    """Read "0-2,8" as the kernel writes it."""
    ranges = (part.partition("-") for part in text.split(",") if part)
    return [number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)]


def all_cpus(hardware: Hardware) -> str:
    return f"0-{hardware.processor.all_cores * hardware.processor.threads - 1}"


def _processors(hardware: Hardware) -> Files:
    processor = hardware.processor
    top = "sys/devices/system/cpu"
    for name in ("online", "possible", "present"):
        yield f"{top}/{name}", f"{all_cpus(hardware)}\n"
    for cpu in range(processor.all_cores * processor.threads):
        core = cpu % processor.all_cores
        siblings = ",".join(str(core + thread * processor.all_cores) for thread in range(processor.threads))
        yield f"{top}/cpu{cpu}/topology/physical_package_id", f"{core // processor.cores}\n"
        yield f"{top}/cpu{cpu}/topology/core_id", f"{core % processor.cores}\n"
        yield f"{top}/cpu{cpu}/topology/thread_siblings_list", f"{siblings}\n"


def _nodes(hardware: Hardware) -> Files:
    top = "sys/devices/system/node"
    empty = (Node(id=number, mib=0) for number in cpu_list(hardware.empty_nodes))
    nodes = sorted((*hardware.nodes, *empty), key=lambda node: node.id)
    yield f"{top}/online", ",".join(str(node.id) for node in nodes) + "\n"
    for node in nodes:
        kib = node.mib * 1024
        yield f"{top}/node{node.id}/cpulist", f"{node.cpus}\n"
        yield f"{top}/node{node.id}/distance", " ".join(str(_distance(node, other)) for other in nodes) + "\n"
        lines = {"MemTotal": kib, "MemFree": kib * 97 // 100, "MemUsed": kib - kib * 97 // 100}
        text = "".join(f"Node {node.id} {name + ':':<15} {number:>8} kB\n" for name, number in lines.items())
        yield f"{top}/node{node.id}/meminfo", f"{text}Node {node.id} HugePages_Total:     0\n"


def _distance(one: Node, other: Node) -> int:
    if one.id == other.id:
        return 10
    return 40 if one.cpus and other.cpus else 80


def _meminfo(nodes: tuple[Node, ...]) -> str:
    kib = sum(node.mib for node in nodes) * 1024
    lines = {
        "MemTotal": kib,
        "MemFree": kib * 97 // 100,
        "MemAvailable": kib * 98 // 100,
        "Buffers": 4096,
        "Cached": kib // 100,
        "SwapTotal": 0,
        "SwapFree": 0,
    }
    text = "".join(f"{name + ':':<15} {number:>8} kB\n" for name, number in lines.items())
    return f"{text}HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n"


def _gpus(gpus: Gpus) -> Files:
    for device in gpus.devices:
        yield from _pci(device.pci, THREE_D_CONTROLLER, NVIDIA, f"0x{gpus.device_id}", device.node)


def _nic(nic: Nic) -> Files:
    kind = "0x020700" if nic.link_layer == "InfiniBand" else "0x020000"
    vendor, _, device = nic.pci_id.partition(":")
    yield from _pci(nic.pci, kind, f"0x{vendor}", f"0x{device}", nic.node)
    top = f"sys/class/infiniband/{nic.name}"
    yield f"{top}/node_type", "1: CA\n"
    yield f"{top}/device/numa_node", f"{nic.node}\n"
    yield f"{top}/ports/1/state", "4: ACTIVE\n" if nic.cable else "1: DOWN\n"
    yield f"{top}/ports/1/phys_state", "5: LinkUp\n" if nic.cable else "3: Disabled\n"
    yield f"{top}/ports/1/link_layer", f"{nic.link_layer}\n"
    yield f"{top}/ports/1/rate", f"{nic.rate}\n"
    for index, kind in enumerate(GID_TYPES[nic.link_layer]):
        yield f"{top}/ports/1/gids/{index}", f"{_gid(nic)}\n"
        yield f"{top}/ports/1/gid_attrs/types/{index}", f"{kind}\n"


def _gid(nic: Nic) -> str:
    """The link-local one. A real one holds the adapter's GUID or MAC; here its place on the bus stands for that."""
    number = nic.pci.partition(".")[0].replace(":", "").zfill(8)
    return f"fe80:0000:0000:0000:0000:00ff:{number[:4]}:{number[4:]}"


def _pci(address: str, kind: str, vendor: str, device: str, node: int) -> Files:
    top = f"sys/bus/pci/devices/{address}"
    for name, text in (("class", kind), ("vendor", vendor), ("device", device), ("numa_node", str(node))):
        yield f"{top}/{name}", f"{text}\n"
