"""`gpus.json`: what a profile's GPUs are to the simulated tool. Runs on the control machine, not in hosts."""

from __future__ import annotations

import json
import uuid
from typing import Any

from inventory.lab.profile import Device, Gpus, Hardware, Nic, Profile

NAMESPACE = uuid.UUID("5ab1ab1e-0000-4000-8000-000000000000")
NO_CLUSTER = "00000000-0000-0000-0000-000000000000"


def described(profile: Profile, lab: str, host: str) -> str:
    """GPUs of different hosts differ in UUID and serial; those of a lab share their NVLink domain if it is switched."""
    hardware = profile.hardware
    if hardware is None or hardware.gpus is None:
        raise ValueError(f"{profile.title}: no GPUs")
    told = {
        "driver": hardware.gpus.driver,
        "cuda": hardware.gpus.cuda,
        "gpus": [_gpu(hardware, n, device, lab, host) for n, device in enumerate(hardware.gpus.devices)],
        "nics": [nic.name for nic in hardware.nics],
        "links": links(hardware.gpus, hardware.nics),
        "failure": profile.failure.model_dump() if profile.failure else None,
    }
    return json.dumps(told, indent=1)


def _gpu(hardware: Hardware, index: int, device: Device, lab: str, host: str) -> dict[str, Any]:
    gpus = hardware.gpus
    assert gpus is not None  # noqa: S101  (for the type checker)
    own = uuid.uuid5(NAMESPACE, f"{lab}/{host}/{index}")
    domain, bus, slot = device.pci.upper().partition(".")[0].split(":")
    switched = gpus.fabric == "switch"
    return gpus.model_dump(exclude={"devices", "links", "fabric", "nic_on_same_node", "device_id"}) | {
        "index": index,
        "uuid": f"GPU-{own}",
        "serial": f"165{own.int % 10**10:010d}",
        "pdi": f"0x{own.int % 2**64:016x}",
        "pci": f"0000{domain}:{bus}:{slot}.0",
        "pci_domain": domain,
        "pci_bus": bus,
        "pci_slot": slot,
        "pci_device_id": f"{gpus.device_id}10DE",
        "board_id": f"0x{int(bus, 16):x}00",
        "module_id": index + 1,
        "addressing_mode": "ATS" if gpus.coherent else "None",
        "c2c_mode": "Enabled" if gpus.coherent else "Disabled",
        "peer_type": "Switch Connected" if switched else "Direct Connected",
        "clique_id": 2 if switched else 0,
        "cluster_uuid": str(uuid.uuid5(NAMESPACE, lab)) if switched else NO_CLUSTER,
        "fabric_health": "Healthy" if switched else "N/A",
        "fabric_bandwidth": "Full" if switched else "N/A",
        "cpu_affinity": next(node.cpus for node in hardware.nodes if node.id == device.node),
        "numa_affinity": device.numa_affinity or str(device.node),
        "gpu_numa_id": "N/A" if device.own_node is None else str(device.own_node),
    }


def links(gpus: Gpus, nics: tuple[Nic, ...]) -> list[list[str]]:
    """The matrix of `topo -m`: GPUs, then NICs."""
    ends: list[Device | Nic] = [*gpus.devices, *nics]
    return [[_link(gpus, row, column) for column in ends] for row in ends]


def _link(gpus: Gpus, one: Device | Nic, other: Device | Nic) -> str:
    if one is other:
        return "X"
    if isinstance(one, Device) and isinstance(other, Device) and gpus.links:
        return f"NV{gpus.links}"
    if one.node != other.node:
        return "SYS"
    if type(one) is type(other):
        return "NODE"
    nic, gpu = (one, other) if isinstance(one, Nic) else (other, one)
    assert isinstance(nic, Nic)  # noqa: S101  (for the type checker)
    behind_one_switch = nic.gpu is not None and gpus.devices[nic.gpu] is gpu
    return "PIX" if behind_one_switch else gpus.nic_on_same_node
