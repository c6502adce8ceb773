"""Saved /sys and /proc trees, read by the product's own script as if they were a host."""

from __future__ import annotations

import posixpath
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inventory.facts.answers import Answers, statuses_in
from inventory.facts.base import Unknown
from inventory.facts.cpu import read_cpu
from inventory.facts.cpulist import format_list
from inventory.facts.gather import Asked, sections
from inventory.facts.gpu.kfd import KfdNode, near_cpu_node, parse_nodes
from inventory.facts.gpu.pci import PciDevice, read_pci
from inventory.facts.host import Cpu, NumaNode
from inventory.facts.numa import MEMORY, read_numa
from inventory.facts.rdma import read_rdma
from tests.corpus_forms import Size

Truth = Mapping[str, Any]
# What the script reads; a saved /sys holds ten times as much.
READ = re.compile(
    r"/(?:topology|nodes|proc|cpuset|cgroup|infiniband|bus/pci/devices|system/node/node\d+|initiators)/"
    r"|/system/(?:cpu|node)/[^/]+$|/system/cpu/cpu\d+/online$|/mlx\d[^/]*/(?:[a-z_]+|ports/\d+/[a-z_]+)$"
    r"|/(?:class|vendor|device|numa_node|physfn)$"
)
UNREAD = re.compile(r"/(?:cache|caches|cpufreq|cpuidle|power|p2p_links|perf|memory\d+|hugepages)/|/cpuid/")
SHM = Path("/dev/shm")


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """In memory where that is possible: thousands of small files."""
    return tempfile.TemporaryDirectory(prefix="bringup-corpus-", dir=SHM if SHM.is_dir() else None)


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpack a tree; returns the folder that plays /.

    By hand: `extractall` sets owners, modes and times of thousands of small files, which takes ten times as long.
    """
    with tarfile.open(archive) as tar:
        for member in tar:
            if is_read(f"/{member.name}") and is_inside(member.name):
                unpack_member(tar, member, folder / member.name)
    found = sorted((path for path in folder.rglob("sys") if path.is_dir()), key=lambda path: len(path.parts))
    return found[0].parent if found else folder


def is_read(name: str) -> bool:
    return bool(READ.search(name)) and not UNREAD.search(name)


def is_inside(name: str) -> bool:
    return ".." not in Path(posixpath.normpath(name)).parts and not name.startswith("/")


def unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """A file, a folder, or a link that stays inside; a saved /sys has links that lead nowhere."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif member.issym() and is_inside(posixpath.join(posixpath.dirname(member.name), member.linkname)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(member.linkname)
    elif member.isreg() and (data := tar.extractfile(member)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.read())


def answers_of(root: Path, *names: str) -> Answers:
    """What the script's sections say of the tree at `root`."""
    with temporary_folder() as name:
        folder = Path(name)
        (folder / "lab").write_text(f"sysroot={root}\n")
        text = sections(Asked()).replace("/etc/bringup-lab", str(folder / "lab"))
        (folder / "sections").write_text(text)
        argv = ["/bin/sh", "./sections", "60", *names]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True, timeout=60)
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return Answers(files=files, statuses=statuses_in(files))


def read_dump(root: Path, files: tuple[str, ...]) -> Truth:
    answers = answers_of(root, "processor", "pci")
    cpu, numa, pci = read_cpu(answers), read_numa(answers), read_pci(answers)
    assert not isinstance(cpu, Unknown), cpu
    assert not isinstance(numa, Unknown), numa
    allowed = allowed_part(cpu, numa)
    memory = answers.item("processor.memory")
    meminfo = {} if isinstance(memory, Unknown) else dict(MEMORY.findall(memory.text))
    return {
        "allowed": allowed,
        "all_expected": {
            name: {**allowed, "pus": allowed["threads"], "packages": allowed["sockets"]} for name in expectations(files)
        },
        "sysfs": {
            "cpu_online": raw(answers, "processor.online"),
            "cpu_present": raw(answers, "processor.present"),
            "node_online": raw(answers, "processor.nodes-online"),
            "nodes": {str(one.id): node_row(one) for one in numa},
        },
        "cpu_less_numa_nodes": [one.id for one in numa if not one.cpus],
        "cpu_dirs": len(cpu.online),
        "cpus_with_topology": len(cpu.online),
        "packages": cpu.sockets,
        "sockets": cpu.sockets,
        "cores": cpu.physical_cores_machine,
        "cores_online": cpu.physical_cores_machine,
        "threads_online": len(cpu.online),
        "cpus_total": len(cpu.online),
        "online_list": raw(answers, "processor.online"),
        "present_list": raw(answers, "processor.present"),
        "numa_nodes": {str(one.id): format_list(one.cpus) for one in numa} if has_nodes(answers) else {},
        "memtotal_kb": int(meminfo["MemTotal"]) if "MemTotal" in meminfo else None,
        "display_or_accelerator_pci": [] if isinstance(pci, Unknown) else [pci_row(one) for one in pci if one.is_gpu],
        "model_names": [cpu.model or "-"],
    }


def as_expected(allowed: Truth) -> Truth:
    return {**allowed, "pus": allowed["threads"], "packages": allowed["sockets"]}


def expectations(files: tuple[str, ...]) -> list[str]:
    """The names of the expected outputs that come with a dump."""
    return [name.removeprefix("expected__").rpartition(".")[0] for name in files if name.startswith("expected__")]


def allowed_part(cpu: Cpu, numa: tuple[NumaNode, ...]) -> Truth:
    """What a process may use: CPUs, the nodes it may take memory of, and the sockets that either is in."""
    usable = [one for one in numa if one.allowed]
    of_memory = {one for node in usable for one in node.cpus}
    return {
        "sockets": sum(bool(set(package) & ({*cpu.allowed} | of_memory)) for package in cpu.packages),
        "cores": cpu.physical_cores,
        "threads": len(cpu.allowed),
        "pu_list": format_list(cpu.allowed),
        "numa": {str(node.id): locality(node, numa, cpu.allowed) for node in usable},
    }


def locality(node: NumaNode, numa: tuple[NumaNode, ...], allowed: tuple[int, ...]) -> Truth:
    """A memory-only node is local to the CPUs of the nodes that it belongs to."""
    owners = [other for other in numa if other.id in node.near]
    cpus = set(node.cpus).union(*(other.cpus for other in owners))
    return {"cpus": format_list(tuple(cpus & set(allowed))), "local": Size(node.memory_bytes)}


def node_row(node: NumaNode) -> Truth:
    return {"cpus": format_list(node.cpus), "memtotal_kb": node.memory_bytes >> 10}


def has_nodes(answers: Answers) -> bool:
    return not isinstance(answers.text("processor.node-cpus"), Unknown)


def raw(answers: Answers, name: str) -> str | None:
    text = answers.text(name)
    return None if isinstance(text, Unknown) else text.strip()


def pci_row(one: PciDevice) -> Truth:
    return {
        "addr": one.address[4:],
        "vendor": f"{one.vendor:04X}",
        "device": f"{one.device:04X}",
        "cls": f"{one.class_code:04X}",
        "numa_node": -1 if one.numa_node is None else one.numa_node,
    }


def as_host(folder: Path, place: str, wanted: str) -> Path:
    """Put the captured folder that holds `wanted` where a host has it."""
    found = next(path.parent for path in sorted(folder.rglob(wanted)))
    root = folder / "as-host"
    (root / place).parent.mkdir(parents=True)
    (root / place).symlink_to(found)
    return root


def read_infiniband(folder: Path, _: tuple[str, ...]) -> Truth:
    devices = read_rdma(answers_of(as_host(folder, "sys/class/infiniband", "mlx5_0"), "rdma"))
    assert not isinstance(devices, Unknown), devices
    return {
        "devices": {
            one.name: {
                "board_id": one.board,
                "fw_ver": one.firmware,
                "hca_type": one.type,
                "link_layer": one.ports[0].link_layer,
                "phys_state": one.ports[0].physical_state,
                "rate": one.ports[0].rate,
                "state": one.ports[0].state,
            }
            for one in devices
        }
    }


def read_kfd(folder: Path, _: tuple[str, ...]) -> Truth:
    item = answers_of(as_host(folder, "sys/class/kfd/kfd/topology", "nodes"), "amd").item("amd.kfd")
    assert not isinstance(item, Unknown), item
    nodes = parse_nodes(item.text)
    gpus = [node for _, node in sorted(nodes.items()) if node.is_gpu]
    cards = list(dict.fromkeys(node.card for node in gpus))
    sizes = {card: sum(node.card == card for node in gpus) for card in cards}
    cpus = {str(node.id): node.properties["cpu_cores_count"] for node in nodes.values() if not node.is_gpu}
    return {
        "cpu_nodes": cpus,
        "gpu_nodes": len(gpus),
        "physical_gpus": len(cards),
        "partitions_per_gpu": sorted(set(sizes.values())),
        "gpus": [kfd_row(node, nodes, cards) for node in gpus],
    }


def kfd_row(node: KfdNode, nodes: dict[int, KfdNode], cards: list[object]) -> Truth:
    domain, bus, devfn = node.pci_address.split(":")
    return {
        "node": node.id,
        "device_id": f"{node.properties['device_id']:#06x}",
        "gfx": str(node.properties["gfx_target_version"]),
        "render_minor": node.properties["drm_render_minor"],
        "domain": int(domain, 16),
        "bus": bus,
        "devfn": devfn,
        "unique_id_group": cards.index(node.card),
        "cpu_node": near_cpu_node(node, nodes),
    }
