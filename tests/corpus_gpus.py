"""Captures of the GPU vendors' tools, by the product's parsers in the form of truth.json."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from inventory.facts.base import Unknown
from inventory.facts.collect_env import parse_report
from inventory.facts.cpulist import format_list
from inventory.facts.gpu import rocm_text
from inventory.facts.gpu.nvidia_csv import parse_listing, parse_rows, parse_table_of
from inventory.facts.gpu.nvidia_failures import find_failure, find_lost_gpus
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu
from inventory.facts.gpu.nvidia_table import parse_table, rows, tool_version
from inventory.facts.gpu.nvidia_text import parse_text
from inventory.facts.gpu.nvidia_xml import format_version, parse_xml
from inventory.facts.gpu.quantity import told
from inventory.facts.gpu.topology import Matrix, cpu_node, parse_matrix
from inventory.facts.lscpu import parse_lscpu
from inventory.facts.network import CLUTTER, parse_netstat
from inventory.facts.numa import MEMORY, parse_top
from inventory.facts.numactl import parse_numactl
from inventory.facts.plain import plain_text
from tests.corpus_forms import Either, Unordered

Truth = Mapping[str, Any]
Reader = Callable[[Path, tuple[str, ...]], Truth]


def text_of(path: Path) -> str:
    return plain_text(path.read_bytes())


def known(answer: NvidiaAnswer | Unknown) -> NvidiaAnswer:
    assert not isinstance(answer, Unknown), answer
    return answer


def mib(gpu: NvidiaGpu) -> int | None:
    return None if gpu.memory_bytes is None else gpu.memory_bytes >> 20


def gpu_row(gpu: NvidiaGpu) -> Truth:
    return {
        "bus_id": gpu.pci_address.upper(),
        "name": gpu.name,
        "uuid_kind": gpu.uuid[:4],
        "memory_total": gpu.memory,
        "memory_mib": mib(gpu),
        "mig_mode": gpu.mig_mode,
        "mig_devices": gpu.mig_devices,
        "persistence": gpu.persistence,
        "addressing_mode": gpu.addressing_mode,
        "compute_mode": gpu.compute_mode,
        "ecc": gpu.ecc,
    }


def answer_part(answer: NvidiaAnswer) -> Truth:
    return {
        "driver": answer.driver,
        "cuda": answer.cuda,
        "attached_gpus": answer.attached,
        "gpu_elements": len(answer.gpus),
        "gpus": [gpu_row(gpu) for gpu in answer.gpus],
    }


def table_part(text: str) -> Truth:
    answer = known(parse_table(text))
    return {
        "nvidia_smi": tool_version(text),
        "driver": answer.driver,
        "cuda": answer.cuda,
        "gpus": [
            {
                "index": row.index,
                "name": row.gpu.name,
                "name_truncated": row.name_is_cut,
                "bus_id": row.gpu.pci_address.upper(),
                "memory_mib": mib(row.gpu),
                "memory_note": row.memory_note,
                "power_draw": row.power or None,
            }
            for row in rows(text)
        ],
    }


def xml(folder: Path, files: tuple[str, ...]) -> Truth:
    text = text_of(folder / files[0])
    return {**answer_part(known(parse_xml(text))), "dtd": format_version(text)}


def query(folder: Path, files: tuple[str, ...]) -> Truth:
    if len(files) == 1:
        return answer_part(known(parse_text(text_of(folder / files[0]))))
    return {
        "table": table_part(text_of(folder / "nvidia-smi.txt")),
        "q": answer_part(known(parse_text(text_of(folder / "nvidia-smi-q.txt")))),
    }


def capture(folder: Path, _: tuple[str, ...]) -> Truth:
    listing = known(parse_listing(text_of(folder / "list.txt")))
    matrix = parse_matrix(text_of(folder / "topo-m.txt"))
    return {
        "table": table_part(text_of(folder / "table.txt")),
        "q": answer_part(known(parse_text(text_of(folder / "q.txt")))),
        "list_gpus": len(listing.gpus),
        "list_mig_devices": sum(gpu.mig_devices for gpu in listing.gpus),
        "topo": {
            str(index): {"cpu_affinity": one.cpus, "numa": one.numa, "gpu_numa_id": one.gpu_numa_id}
            for index, one in matrix.affinities.items()
        },
        "csv": [
            {**row, "memory.total [MiB]": row["memory.total"]} for row in parse_rows(text_of(folder / "query-gpu.csv"))
        ],
    }


def gpu_rows(matrix: Matrix, with_cpus: Collection[int] = ()) -> Truth:
    return {
        str(index): {
            "cpu_affinity": one.cpus or None,
            "numa_affinity": one.numa or None,
            "numa_node": cpu_node(one.numa, with_cpus),
            "gpu_numa_id": int(one.gpu_numa_id) if one.gpu_numa_id.isdecimal() else None,
        }
        for index, one in sorted(matrix.affinities.items())
    }


def topology(folder: Path, files: tuple[str, ...]) -> Truth:
    text = text_of(folder / files[0])
    matrix = parse_matrix(text)
    report = parse_report(text)
    gpus = gpu_rows(matrix, grace_nodes(matrix))
    per_gpu = list(gpus.values())
    names = dict(zip(matrix.nics, matrix.nic_names, strict=False))
    listed = {
        "gpus": len(matrix.gpus),
        "nics": len(matrix.nics),
        "numa": [one["numa_node"] for one in per_gpu],
        "cpu_affinity": [one["cpu_affinity"] for one in per_gpu],
        "gpu_numa_id": [one["gpu_numa_id"] for one in per_gpu],
    }
    return {
        "topology_gpus": len(matrix.gpus),
        "topology_nics": len(matrix.nics),
        "header_gpus": len(matrix.gpus),
        "gpu_count": report.gpu_count,
        "gpu_models_visible": list(report.models),
        "driver": report.driver,
        "rows_present": len(matrix.affinities),
        "complete": len(matrix.affinities) == len(matrix.gpus),
        "nic_links": {names.get(nic, nic): nic_links(matrix, nic) for nic in matrix.nics},
        **listed,
        "gpus": Either(gpus, len(matrix.gpus)),
    }


def grace_nodes(matrix: Matrix) -> Collection[int]:
    """The nodes with CPUs where the matrix itself tells: GPU memory nodes are none."""
    memory = [int(one.gpu_numa_id) for one in matrix.affinities.values() if one.gpu_numa_id.isdecimal()]
    return range(min(memory)) if memory else ()


def nic_links(matrix: Matrix, nic: str) -> Truth:
    return {
        row.removeprefix("GPU"): link for (row, column), link in matrix.links.items() if column == nic and "GPU" in row
    }


def error(folder: Path, files: tuple[str, ...]) -> Truth:
    text = text_of(folder / files[0])
    failure = find_failure(text)
    lost = find_lost_gpus(text)
    return {
        "error_class": failure.name if failure else None,
        "gpus_usable": failure.usable if failure else None,
        **({"pci": lost[0].address, "device_id": lost[0].device, "driver": lost[0].driver} if lost else {}),
    }


def table(folder: Path, files: tuple[str, ...]) -> Truth:
    return table_part(text_of(folder / files[0]))


def listing(folder: Path, files: tuple[str, ...]) -> Truth:
    gpus = known(parse_listing(text_of(folder / files[0]))).gpus
    profiles = {profile for gpu in gpus for profile in gpu.mig_profiles}
    return {
        "physical_gpus": len(gpus),
        "mig_devices": sum(gpu.mig_devices for gpu in gpus),
        "model": gpus[0].name,
        "profile": profiles.pop() if len(profiles) == 1 else None,
    }


def table_csv(folder: Path, files: tuple[str, ...]) -> Truth:
    found = parse_table_of(text_of(folder / files[0]))
    tables = [parse_table_of(text_of(folder / name)) for name in files if name.endswith(".csv")]
    names = [row["name"] for rows_ in tables for row in rows_ if "name" in row]
    memory = [told(row.get("memory.total", "")) for row in found]
    meminfo = dict(MEMORY.findall(text_of(folder / "meminfo.txt"))) if "meminfo.txt" in files else {}
    return {
        "gpu_count": len(found),
        "model": names[0] if names else None,
        "models": names,
        "default_limit": told(found[0].get("power.default_limit", "")) if found else None,
        "gpu0_fan": found[0].get("fan.speed") or found[0].get("untold") if found else None,
        "memory_total": memory[0] if memory else None,
        "memtotal_kb": int(meminfo["MemTotal"]) if meminfo else None,
    }


def host_bundle(folder: Path, files: tuple[str, ...]) -> Truth:
    texts = {name: text_of(folder / name) for name in files}
    found: dict[str, Any] = {}
    if "nvidia-smi.txt" in texts:
        found |= unified_host(texts)
    if "topo-mp.txt" in texts:
        found |= nvidia_host(texts)
    if "lscpu-part.txt" in texts:
        found |= amd_host(texts)
    return found


def unified_host(texts: Mapping[str, str]) -> Truth:
    answer = known(parse_table(texts["nvidia-smi.txt"]))
    row = rows(texts["nvidia-smi.txt"])[0]
    interfaces = parse_netstat(texts["netstat-i.txt"])
    physical = [one for one in interfaces if not CLUTTER.fullmatch(one.name) and one.name != "lo"]
    return {
        "gpu_count": len(answer.gpus),
        "gpu_model": answer.gpus[0].name,
        "memory_mib": mib(answer.gpus[0]),
        "memory_note": f"{row.memory_note} (unified memory: use system RAM)" if mib(row.gpu) is None else None,
        "ram_mib": parse_top(texts["top-mem.txt"]),
        "driver": answer.driver,
        "cuda": answer.cuda,
        "physical_nics": Unordered.of(one.name for one in physical),
        "nics_with_carrier": Unordered.of(one.name for one in physical if one.state == "up"),
        "virtual_ifaces": Unordered.of(one.name for one in interfaces if one not in physical),
    }


def nvidia_host(texts: Mapping[str, str]) -> Truth:
    matrix = parse_matrix(texts["topo-mp.txt"])
    buses = {row["index"]: row["pci.bus_id"] for row in parse_table_of(texts["query-gpu.csv"])}
    nic_numa = dict(line.split("|") for line in texts["nic-numa.txt"].split())
    near = [link for (row, column), link in matrix.links.items() if "GPU" in row and "NIC" in column and link == "PIX"]
    return {
        "topology_gpus": len(matrix.gpus),
        "topology_nics": len(matrix.nics),
        "gpus": {index: {**row, "bus": buses[index][4:].lower()} for index, row in gpu_rows(matrix).items()},
        "cpu_affinity_truncated": any(one.cpus_cut for one in matrix.affinities.values()),
        "nic_names": list(matrix.nic_names),
        "nic_numa": {nic: int(node) for nic, node in nic_numa.items()},
        "physical_nic_cards": len({nic.partition(".")[0] for nic in nic_numa}),
        "gpu_near_nic": near or None,
    }


def amd_host(texts: Mapping[str, str]) -> Truth:
    cpu = parse_lscpu(texts["lscpu-part.txt"])
    lines = rocm_text.parse_gpu_lines("\n".join(text for name, text in texts.items() if "showtoponuma" in name))
    nodes = parse_numactl(texts.get("numactl-H.txt", ""))
    names = {one.index: one.name for one in rocm_text.parse_concise(texts.get("rocm-smi.txt", ""))}
    numa = {index: int(keys["Numa Node"]) for index, keys in lines.items()}
    rows_ = [{"index": index, "model": names.get(index), "numa_node": node} for index, node in numa.items()]
    by_node = {str(node): cpus for node, cpus in cpu.numa_nodes.items()}
    return {
        "sockets": cpu.sockets,
        "cores": cpu.cores,
        "threads": cpu.cpus or (cpu.cores or 0) * (cpu.threads_per_core or 0),
        "threads_per_core": cpu.threads_per_core,
        "numa_nodes": by_node or {str(node.id): format_list(node.cpus) for node in nodes},
        "numa_memory_mb": {str(node.id): node.memory_bytes >> 20 for node in nodes},
        "gpus": Either(rows_, len(lines)),
        "gpu_numa": list(numa.values()),
    }


NVIDIA_READERS: Mapping[str, Reader] = {
    "nvidia-smi-xml": xml,
    "nvidia-smi-q": query,
    "nvidia-smi-capture": capture,
    "nvidia-smi-topo": topology,
    "nvidia-smi-table": table,
    "nvidia-smi-list": listing,
    "nvidia-smi-csv": table_csv,
    "error": error,
}
