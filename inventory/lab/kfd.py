"""AMD GPUs as files of /sys/class/kfd: the kernel's compute nodes, processors first, each partition a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inventory.lab.profile import Cards, Device, Node

TOP = "sys/class/kfd/kfd/topology/nodes"
SIMDS_OF_A_UNIT = 4
PCIE, XGMI = (2, 20), (11, 15)
"""Type of a link (HSA_IOLINKTYPE) and its weight."""


def files(cards: Cards, cpu_nodes: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """Path below the sysroot, content."""
    for number in range(len(cpu_nodes)):
        yield from _node(number, 0, {"simd_count": 0, "location_id": 0, "domain": 0})
    parts = [(device, part) for device in cards.devices for part in range(cards.partitions)]
    first = len(cpu_nodes)
    for at, (device, part) in enumerate(parts):
        yield from _node(first + at, 20_000 + at, _properties(cards, device, part))
        size = (cards.memory_mib << 20) // cards.partitions
        yield f"{TOP}/{first + at}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {size}\n"
        near = next(number for number, node in enumerate(cpu_nodes) if node.id == device.node)
        # Partitions reach each other inside their card; the kernel lists cards that are whole.
        others = [first + other for other in range(len(parts)) if other != at] if cards.partitions == 1 else []
        for index, (to, (kind, weight)) in enumerate([(near, PCIE), *((other, XGMI) for other in others)]):
            text = f"type {kind}\nnode_from {first + at}\nnode_to {to}\nweight {weight}\n"
            yield f"{TOP}/{first + at}/io_links/{index}/properties", text


def _properties(cards: Cards, device: Device, part: int) -> dict[str, int]:
    domain, bus, rest = device.pci.split(":")
    return {
        "simd_count": cards.compute_units * SIMDS_OF_A_UNIT // cards.partitions,
        "gfx_target_version": cards.gfx_target_version,
        "vendor_id": 0x1002,
        "device_id": int(cards.device_id, 16),
        "location_id": int(bus, 16) << 8 | int(rest.partition(".")[0], 16) << 3 | part,
        "domain": int(domain, 16),
        "unique_id": 1000 + cards.devices.index(device),
    }


def _node(number: int, gpu_id: int, properties: dict[str, int]) -> Iterator[tuple[str, str]]:
    yield f"{TOP}/{number}/gpu_id", f"{gpu_id}\n"
    yield f"{TOP}/{number}/name", "ip discovery\n" if gpu_id else "\n"
    yield f"{TOP}/{number}/properties", "".join(f"{name} {value}\n" for name, value in properties.items())
