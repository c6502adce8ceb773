"""`amd-smi static --json` and `amd-smi list --json`: a bare list or `{"gpu_data": [...]}`, both within one version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.cpulist import parse_mask
from inventory.facts.gpu.amd_gpu import AmdAnswer, AmdGpu
from inventory.facts.gpu.pci import normalise
from inventory.facts.gpu.quantity import parse_bytes, told
from inventory.facts.host import GpuProcess
from inventory.facts.jsontext import Fields, as_objects, parse, parse_at

NUMBER_OF_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")


def gpu_entries(text: str) -> tuple[Fields, ...]:
    value = parse(text)
    if isinstance(value, dict):
        value = value.get("gpu_data")
    return tuple(entry for entry in as_objects(value) if entry.number("gpu") is not None)


def parse_amd_smi(static: str, listed: str, held: str = "") -> Maybe[AmdAnswer]:
    """The answers of `static`, `list` and `process`; only the first is needed."""
    entries = gpu_entries(static)
    if not entries:
        return Unknown(Why.UNREADABLE, "no GPUs in the JSON of amd-smi static")
    by_index = {entry.number("gpu"): entry for entry in gpu_entries(listed)}
    processes = {entry.number("gpu"): gpu_processes(entry) for entry in gpu_entries(held)}
    gpus = tuple(
        amd_gpu(entry, by_index.get(index, Fields({})), processes.get(index, ()))
        for entry in entries
        if (index := entry.number("gpu")) is not None
    )
    return AmdAnswer(driver=driver_version(entries[0].object("driver").text("version")), gpus=gpus)


def driver_version(text: str) -> str | None:
    """The version of the driver package; the in-kernel driver prints the kernel's banner, which is none."""
    return text.strip() if NUMBER_OF_VERSION.fullmatch(text.strip()) else None


def gpu_processes(entry: Fields) -> tuple[GpuProcess, ...]:
    """`process_list` holds `{"process_info": {"name", "pid", "mem" or "memory_usage"}}`, or `N/A` when idle."""
    infos = (one.object("process_info") for one in entry.objects("process_list"))
    return tuple(
        GpuProcess(pid=pid, name=info.text("name"), memory_bytes=amount(info, "mem"))
        for info in infos
        if (pid := info.number("pid")) is not None
    )


def amd_gpu(static: Fields, listed: Fields, processes: tuple[GpuProcess, ...]) -> AmdGpu:
    asic, numa = static.object("asic"), static.object("numa")
    return AmdGpu(
        name=told(asic.text("market_name")) or "",
        uuid=told(listed.text("uuid")) or told(asic.text("asic_serial")) or "",
        memory_bytes=amount(static.object("vram"), "size"),
        pci_address=address(static.object("bus").text("bdf") or listed.text("bdf")),
        numa_node=numa.number("node"),
        gfx=told(asic.text("target_graphics_version")),
        processes=processes,
        cpus=masked_cpus(numa.object("cpu_affinity")),
    )


def masked_cpus(lists: Fields) -> tuple[int, ...]:
    """`cpu_list_0`, `cpu_list_1`, ... each hold a mask of 64 CPUs."""
    numbers = (key.removeprefix("cpu_list_") for key in lists.members)
    found = [
        64 * int(number) + cpu
        for number in numbers
        if number.isdecimal() and len(number) < 4
        for cpu in parse_mask(lists.object(f"cpu_list_{number}").text("bitmask") or "0")
    ]
    return tuple(sorted(found))


def amount(fields: Fields, key: str) -> int | None:
    """`{"value": 196592, "unit": "MB"}`, or the same as one text."""
    pair = fields.object(key)
    number = pair.number("value")
    return parse_bytes(f"{number} {pair.text('unit')}" if number is not None else fields.text(key))


def address(text: str) -> str:
    try:
        return normalise(text)
    except ValueError:
        return ""


def parse_documents(text: str) -> tuple[tuple[Fields, ...], ...]:
    """The lists of an answer of several JSON values one after another; a legend below them is left."""
    documents = []
    while (at := text.find("[")) >= 0:
        value, end = parse_at(text, at)
        if value is None:
            break
        documents.append(as_objects(value))
        text = text[end:]
    return tuple(documents)


@dataclass(frozen=True, slots=True)
class Link:
    type: str
    status: str | None = None
    weight: int | None = None
    hops: int | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """`amd-smi topology --json`: PCI address by GPU where told, links by pair; `form`: which of its two forms."""

    gpus: dict[int, str | None]
    links: dict[tuple[int, int], Link]
    form: str


def parse_links(text: str) -> Links:
    """The older form has a map `gpu_N` for each property, the newer a list of links."""
    entries = gpu_entries(text)
    gpus = {entry.number("gpu") or 0: entry.text("bdf") or None for entry in entries}
    newer = any(entry.objects("links") for entry in entries)
    read = listed_links if newer else mapped_links
    found = {(entry.number("gpu") or 0, other): link for entry in entries for other, link in read(entry).items()}
    return Links(gpus, found, "links list" if newer else "gpu_N maps")


def listed_links(entry: Fields) -> dict[int, Link]:
    return {
        one.number("gpu") or 0: Link(one.text("link_type"), one.text("link_status") or None)
        for one in entry.objects("links")
    }


def mapped_links(entry: Fields) -> dict[int, Link]:
    types = entry.object("link_type")
    return {
        int(key.removeprefix("gpu_")): Link(
            types.text(key), weight=entry.object("weight").number(key), hops=entry.object("hops").number(key)
        )
        for key in types.members
        if key.removeprefix("gpu_").isdecimal()
    }
