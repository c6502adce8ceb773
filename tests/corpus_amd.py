"""Captures of AMD's tools, by the product's parsers in the form of truth.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inventory.facts.base import Unknown
from inventory.facts.gpu import amd_text, rocm_text
from inventory.facts.gpu.amd_smi import gpu_entries, parse_amd_smi, parse_documents, parse_links
from inventory.facts.gpu.quantity import told
from inventory.facts.gpu.rocm_smi import driver_of, parse_cards
from inventory.facts.jsontext import parse_object
from inventory.facts.plain import plain_text

Truth = Mapping[str, Any]
Reader = Callable[[Path, tuple[str, ...]], Truth]


def text_of(path: Path) -> str:
    return plain_text(path.read_bytes())


def amd_json(folder: Path, files: tuple[str, ...]) -> Truth:
    texts = {name: text_of(folder / name) for name in files}
    if "topology-old.json" in texts:
        return {"old": links(texts["topology-old.json"]), "new": links(texts["topology-new.json"])}
    if "partition.json.txt" in texts:
        documents = parse_documents(texts["partition.json.txt"])
        rows_ = [one for document in documents for one in document if one.number("gpu") is not None]
        return {
            "documents": len(documents),
            "gpus": {str(one.number("gpu")): {"memory_partition": one.text("memory_partition")} for one in rows_},
        }
    static = next(text for name, text in texts.items() if "static" in name)
    answer = parse_amd_smi(static, texts.get("list.json", ""))
    assert not isinstance(answer, Unknown), answer
    entries = gpu_entries(static)
    metric = gpu_entries(texts.get("metric.json", ""))
    usage = metric[0].object("mem_usage") if metric else None
    return {
        "gpu_count": len(answer.gpus),
        "model": answer.gpus[0].name,
        "bdf": answer.gpus[0].pci_address[4:],
        "driver": answer.driver,
        "vram_mb": usage.object("total_vram").number("value") if usage else None,
        "vram_used_mb": usage.object("used_vram").number("value") if usage else None,
        "wrapped_in_gpu_data": parse_object(static) is not None and "gpu_data" in static,
        "gpus": [
            {
                "index": entry.number("gpu"),
                "name": gpu.name,
                "vram_mb": None if gpu.memory_bytes is None else gpu.memory_bytes >> 20,
                "numa_node": gpu.numa_node,
                "numa_affinity": entry.object("numa").number("affinity"),
                "cpu_affinity_from_bitmask": odd_cpus(gpu.cpus),
                "driver": {
                    "name": entry.object("driver").text("name"),
                    "version": entry.object("driver").text("version"),
                },
            }
            for entry, gpu in zip(entries, answer.gpus, strict=True)
        ],
    }


def odd_cpus(cpus: tuple[int, ...]) -> str | None:
    """truth.json describes the masks of that one capture in words."""
    parts = [[cpu for cpu in cpus if cpu // 64 == part] for part in (0, 1)]
    if not all(parts) or any(cpu % 2 == 0 or cpu - 2 not in part[:1] + part for part in parts for cpu in part[1:]):
        return None
    (a, b, *_, c), (d, e, *_, f) = parts
    return f"odd CPUs {a},{b},...,{c} (cpu_list_0) and {d},{e},...,{f} (cpu_list_1)"


def links(text: str) -> Truth:
    found = parse_links(text)
    first = found.links.get((0, 1))
    return {
        "gpus": len(found.gpus),
        "bdfs": list(found.gpus.values()),
        "link_0_1": first.type if first else None,
        "link_status_0_1": first.status if first else None,
        "weight_0_1": first.weight if first else None,
        "hops_0_1": first.hops if first else None,
        "keys": found.form,
    }


def amd_plain(folder: Path, files: tuple[str, ...]) -> Truth:
    texts = {name: text_of(folder / name) for name in files}
    static = amd_text.parse_outline(next(text for name, text in texts.items() if "static" in name))
    tables = amd_text.parse_tables("\n".join(text for name, text in texts.items() if "topology" in name))
    index, values = next(iter(static.items()))
    grid = tables.get("ACCESS") or tables.get("NIC_LINK_TYPE") or {}
    bdfs = list(next(iter(grid.values()), {}))
    nics = tables.get("NIC_NUMA", {})
    listed = texts.get("amd-smi-list.txt", "")
    vfs = gpu_entries(texts.get("list.json", ""))
    vram = values.get(("VRAM", "SIZE"), "")
    units = values.get(("ASIC", "NUM_OF_COMPUTE_UNITS"))
    oam = values.get(("ASIC", "OAM_ID"))
    return {
        "static": {
            "gpu": index,
            "market_name": values.get(("ASIC", "MARKET_NAME")),
            "name": values.get(("ASIC", "MARKET_NAME")),
            "product_name": values.get(("BOARD", "PRODUCT_NAME")),
            "device_id": values.get(("ASIC", "DEVICE_ID"), "").lower(),
            "bdf": values.get(("BUS", "BDF")),
            "vram_mb": int(vram.split()[0]) if vram else None,
            "compute_units": int(units) if units else None,
            "oam_id": int(oam) if oam else None,
        },
        "vfs": sum(len(entry.objects("vfs")) for entry in vfs),
        "topology_gpus": len(bdfs),
        "bdfs": bdfs,
        "list_shown": len(amd_text.parse_outline(listed)),
        "gpu_numa": amd_text.gpu_nodes(tables),
        "nic_numa": {nic: int(row["NUMA"]) for nic, row in nics.items()},
        "nic_cpu_affinity": {nic: row["CPU AFFINITY"].strip("[]") for nic, row in nics.items()},
    }


def rocm_json(folder: Path, files: tuple[str, ...]) -> Truth:
    text = text_of(folder / files[0])
    cards = parse_cards(text)
    top = parse_object(text)
    assert top is not None
    return {
        "gpu_count": len(cards),
        "driver": driver_of(text),
        "top_keys": sorted(top.members),
        "gpus": [
            {
                "card": name,
                "series": told(card.text("card series")),
                "model": told(card.text("card model")),
                "device_name": told(card.text("device name")),
                "device_id": told(card.text("device id")),
                "vram_total_bytes": card.number("vram total memory (b)"),
                "pci_bus": told(card.text("pci bus")),
                "numa_node": told(card.text("(topology) numa node")),
                "numa_affinity": told(card.text("(topology) numa affinity")),
                "gfx": told(card.text("gfx version")),
            }
            for name, card in cards.items()
        ],
    }


def rocm_plain(folder: Path, files: tuple[str, ...]) -> Truth:
    texts = {name: text_of(folder / name) for name in files}
    everything = "\n".join(texts.values())
    short = rocm_text.parse_concise(everything)
    lines = rocm_text.parse_gpu_lines(everything)
    agents = rocm_text.parse_agents(texts.get("rocminfo.txt", ""))
    buses = [keys["PCI Bus"] for keys in lines.values() if "PCI Bus" in keys]
    partitions = rocm_text.partition_mode(buses)
    return {
        "gpu_count": len(short) or len(lines),
        "gpus": len(lines),
        "model": short[0].name if short else None,
        "device_id": short[0].device_id if short else None,
        "partition_memory": short[0].memory_partition if short else None,
        "partition_compute": short[0].compute_partition if short else None,
        "driver": rocm_text.driver_line(everything),
        "numa": [int(keys["Numa Node"]) for keys in lines.values() if "Numa Node" in keys],
        "numa_lines": [keys["Numa Node"] for keys in lines.values() if "Numa Node" in keys],
        "rocminfo_agents": [{"name": one.name, "marketing": one.marketing_name, "type": one.type} for one in agents],
        "rocminfo_gpus": sum(one.type == "GPU" for one in agents),
        "logical_gpus": len(buses),
        "physical_gpus": len(partitions.cards),
        "partition_mode": partitions.mode,
        "buses": list(partitions.cards),
    }


AMD_READERS: Mapping[str, Reader] = {
    "amd-smi-json": amd_json,
    "amd-smi-text": amd_plain,
    "rocm-smi-json": rocm_json,
    "rocm-smi-text": rocm_plain,
}
