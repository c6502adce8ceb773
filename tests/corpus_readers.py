"""One reader for each kind of capture: the product's own parsers, their answers brought into the form of truth.json."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inventory.facts.blocks import disks, parse_lsblk
from inventory.facts.collect_env import Report, parse_report
from inventory.facts.cpulist import format_list
from inventory.facts.disks import parse_findmnt, parse_mountinfo
from inventory.facts.host import Block, RdmaDevice
from inventory.facts.lscpu import Lscpu, parse_lscpu
from inventory.facts.lspci import Listed, parse_lspci
from inventory.facts.machine import parse_board, parse_dmidecode, parse_soc, parse_tegra_release
from inventory.facts.numactl import parse_numactl
from inventory.facts.plain import plain_text
from inventory.facts.rdma import count_cards
from inventory.facts.rdma_text import (
    parse_ibdev2netdev,
    parse_ibstat,
    parse_ibstatus,
    parse_ibv_devinfo,
    parse_rdma_link,
)
from tests.corpus_amd import AMD_READERS
from tests.corpus_dumps import read_dump, read_infiniband, read_kfd, temporary_folder, unpacked
from tests.corpus_gpus import NVIDIA_READERS, gpu_rows, host_bundle

Truth = Mapping[str, Any]
Reader = Callable[[Path, tuple[str, ...]], Truth]


def text_of(path: Path) -> str:
    data = path.read_bytes()
    return plain_text(gzip.decompress(data) if path.suffix == ".gz" else data)


def first(folder: Path, files: tuple[str, ...]) -> str:
    return text_of(folder / files[0])


def cpu(one: Lscpu) -> Truth:
    return {
        "arch": one.architecture,
        "model": one.model,
        "cpus_total": one.cpus,
        "online_list": one.online,
        "offline_list": one.offline,
        "cpus_online": one.online_count,
        "threads_per_core": one.threads_per_core,
        "cores_per_socket": one.cores_per_socket,
        "sockets": one.sockets,
        "numa_nodes": {str(node): cpus for node, cpus in one.numa_nodes.items()},
        "numa_nodes_count": one.numa_node_count,
        "numa_nodes_total": one.numa_node_count,
        "cpu_less_numa_nodes": list(one.nodes_without_cpus),
        "cpu_numa_nodes": [node for node, cpus in one.numa_nodes.items() if cpus],
        "hypervisor": one.hypervisor,
        "cores_machine": one.cores,
        "cores": one.cores,
    }


def environment(folder: Path, files: tuple[str, ...]) -> Truth:
    report = parse_report(first(folder, files))
    return {
        "gpu_models_visible": list(report.models),
        "gpu_count": report.gpu_count,
        "topology_gpus": len(report.matrix.gpus) or len(report.rocm_nodes) or None,
        "topology_nics": len(report.matrix.nics) if report.matrix.gpus else None,
        "nic_names": list(report.matrix.nic_names),
        "gpus": gpu_affinities(report),
        "cpu_affinity_truncated": any(one.cpus_cut for one in report.affinities.values()) or None,
        "cpu": cpu(report.cpu) if report.cpu else {},
        "driver": report.driver,
        "cuda_torch_build": report.cuda_build,
        "cuda_toolkit_nvcc": report.cuda_toolkit,
        "rocm_torch_build": report.rocm_build,
        "hip_runtime": report.hip,
        "os": report.os,
        "hypervisor": report.hypervisor,
    }


def gpu_affinities(report: Report) -> Truth:
    if report.rocm_nodes:
        return {
            str(gpu): {"numa_node": number(keys.get("Numa Node")), "numa_affinity": number(keys.get("Numa Affinity"))}
            for gpu, keys in report.rocm_nodes.items()
        }
    with_cpus = [node for node, cpus in report.cpu.numa_nodes.items() if cpus] if report.cpu else []
    return gpu_rows(report.matrix, with_cpus)


def number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None


def disk(folder: Path, files: tuple[str, ...]) -> Truth:
    text = first(folder, files)
    if "mountinfo" in files[0]:
        return {"lines": len(parse_mountinfo(text))}
    if "findmnt" in files[0]:
        keys = ("source", "fstype", "size", "used", "avail", "use%", "target")
        return {
            "filesystems": [
                dict(
                    zip(
                        keys,
                        (one.source, one.type, one.size, one.used, one.available, one.used_share, one.target),
                        strict=True,
                    )
                )
                for one in parse_findmnt(text)
            ]
        }
    blocks = parse_lsblk(text)
    return {
        "lines": len(blocks),
        "top_level": len([block for block in blocks if block.depth == 0]),
        "total_entries": len(blocks),
        "types": dict(Counter(block.type for block in blocks)),
        "disks": [disk_row(block) for block in disks(blocks)],
        "size_json_type": type(blocks[0].size).__name__ if blocks else None,
    }


def disk_row(block: Block) -> Truth:
    return {"name": block.name, "size": block.size, "rota": block.rotational, "fstype": block.file_system}


def firmware(folder: Path, files: tuple[str, ...]) -> Truth:
    machine = parse_dmidecode(first(folder, files))
    assert machine is not None
    return {"manufacturer": machine.manufacturer, "product": machine.product}


def jetson(folder: Path, _: tuple[str, ...]) -> Truth:
    uname = dict(line.split(": ", 1) for line in text_of(folder / "uname.txt").splitlines() if ": " in line)
    return {
        "board": parse_board(text_of(folder / "devicetree-model")),
        "soc": parse_soc(text_of(folder / "devicetree-compatible")),
        "l4t": parse_tegra_release(text_of(folder / "nv_tegra_release")),
        "kernel": uname.get("Release"),
        "arch": uname.get("Machine"),
    }


def ibstat(folder: Path, files: tuple[str, ...]) -> Truth:
    text = first(folder, files)
    devices = parse_ibstatus(text) or parse_ibstat(text)
    ports = [port for one in devices for port in one.ports]
    named = {one.name: ibstat_port(one) for one in devices}
    rates = Counter(str(int(port.gigabits)) for port in ports if port.gigabits is not None)
    shapes: dict[str, Any] = {"list": [ibstat_row(one) for one in devices], "named": named}
    return {
        "summary": {
            "devices": len(devices),
            "ib": sum(port.link_layer == "InfiniBand" for port in ports),
            "ethernet": sum(port.link_layer == "Ethernet" for port in ports),
            "active": sum(port.is_active for port in ports),
            "rates": dict(rates),
        },
        "devices": shapes["named" if "ethernet.txt" in files[0] or files[0] == "ibstat.txt" else "list"],
        "infiniband_ports": sum(port.link_layer == "InfiniBand" for port in ports),
        "physical_cards": count_cards(devices),
    }


def ibstat_row(one: RdmaDevice) -> Truth:
    port = one.ports[0]
    return {
        "ca": one.name,
        "dev": one.name,
        "type": one.type,
        "ports": len(one.ports),
        "fw": one.firmware,
        "state": port.state,
        "phys": port.physical_state,
        "rate": int(port.rate) if port.rate.isdecimal() else port.rate,
        "link_layer": port.link_layer,
    }


def ibstat_port(one: RdmaDevice) -> Truth:
    port = one.ports[0]
    return {
        "state": port.state,
        "physical_state": port.physical_state,
        "rate": int(port.rate) if port.rate.isdecimal() else port.rate,
        "link_layer": port.link_layer,
    }


def ibv_devinfo(folder: Path, files: tuple[str, ...]) -> Truth:
    devices = parse_ibv_devinfo(first(folder, files))
    rows = [
        {
            "name": one.name,
            "state": one.ports[0].state if one.ports else None,
            "link_layer": one.ports[0].link_layer if one.ports else None,
            "part": int(one.type),
            "vendor_part_id": int(one.type),
            "port": str(one.ports[0].number) if one.ports else None,
            "fw": one.firmware,
            "board_id": one.board,
        }
        for one in devices
    ]
    kinds = {port.link_layer for one in devices for port in one.ports}
    return {
        "devices": {row["name"]: row for row in rows} if len(rows) == 1 else rows,
        "rdma_kind": {"Ethernet": "RoCE", "InfiniBand": "InfiniBand"}.get(kinds.pop()) if len(kinds) == 1 else None,
    }


def ibdev2netdev(folder: Path, files: tuple[str, ...]) -> Truth:
    devices = parse_ibdev2netdev(first(folder, files))
    by_layer = {
        layer: sorted((one.name for one in devices if one.ports[0].link_layer == layer), key=by_number)
        for layer in ("InfiniBand", "Ethernet")
    }
    return {
        "rdma_devices": len(devices),
        "infiniband": by_layer["InfiniBand"],
        "ethernet": by_layer["Ethernet"],
    }


def by_number(name: str) -> int:
    return int(name.rpartition("_")[2])


def rdma_link(folder: Path, files: tuple[str, ...]) -> Truth:
    devices = parse_rdma_link(first(folder, files))
    return {
        "links": {
            one.name: {"port": one.ports[0].number, "state": one.ports[0].state, "netdev": one.netdevs[0]}
            for one in devices
        }
    }


def lscpu(folder: Path, files: tuple[str, ...]) -> Truth:
    found = dict(cpu(parse_lscpu(first(folder, files))))
    if "numa_nodes_total" in found and found["cpus_online"] is None:
        found["numa_nodes"] = {node: cpus for node, cpus in found["numa_nodes"].items() if cpus}
    return found


def numactl(folder: Path, files: tuple[str, ...]) -> Truth:
    nodes = parse_numactl(first(folder, files))
    return {
        "nodes": {str(node.id): {"cpus": format_list(node.cpus), "mb": node.memory_bytes >> 20} for node in nodes},
        "cpu_less": [node.id for node in nodes if not node.cpus],
        "sockets": len([node for node in nodes if node.cpus]),
    }


def lspci(folder: Path, files: tuple[str, ...]) -> Truth:
    devices = parse_lspci(first(folder, files))
    nvidia = [one for one in devices if "NVIDIA" in one.text]
    mellanox = [one for one in devices if "Mellanox" in one.text and "controller" in one.kind]
    detailed = any(one.numa_node is not None for one in devices)
    return {
        "lines": len(devices),
        "devices": len(devices),
        "nvidia_gpus": sum(one.is_gpu for one in nvidia),
        "nvidia_bridges": sum(one.kind == "Bridge" for one in nvidia),
        "gpu_lines": [one.line for one in nvidia if one.is_gpu],
        "gpus": [pci_row(one) for one in nvidia if one.is_gpu],
        "mellanox": [pci_row(one) for one in mellanox] if detailed else len(mellanox),
        "nvme": sum(one.kind == "Non-Volatile memory controller" for one in devices),
    }


def pci_row(one: Listed) -> Truth:
    return {"addr": one.address, "desc": f"{one.kind}: {one.text}", "numa_node": one.numa_node}


def of_archive(read: Reader) -> Reader:
    """A reader of the tree in the archive among the files."""

    def reader(folder: Path, files: tuple[str, ...]) -> Truth:
        with temporary_folder() as name:
            archive = next(file for file in files if ".tar" in file)
            return read(unpacked(folder / archive, Path(name)), files)

    return reader


READERS: Mapping[str, Reader] = {
    **NVIDIA_READERS,
    **AMD_READERS,
    "env-vllm": environment,
    "env-sglang": environment,
    "host-bundle": host_bundle,
    "disk": disk,
    "dmi": firmware,
    "jetson": jetson,
    "ibstat": ibstat,
    "ibv_devinfo": ibv_devinfo,
    "ibdev2netdev": ibdev2netdev,
    "rdma-json": rdma_link,
    "lscpu-text": lscpu,
    "numactl": numactl,
    "lspci": lspci,
    "sysfs-dump": of_archive(read_dump),
    "sysfs-infiniband": of_archive(read_infiniband),
    "kfd-topology": of_archive(read_kfd),
}
