"""`amd-smi static --json` and `amd-smi list --json`: a bare list or `{"gpu_data": [...]}`, both within one version."""

from __future__ import annotations

import re

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.amd_gpu import AmdAnswer, AmdGpu
from inventory.facts.gpu.pci import normalise
from inventory.facts.gpu.quantity import parse_bytes, told
from inventory.facts.jsontext import Fields, as_objects, parse

NUMBER_OF_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")


def gpu_entries(text: str) -> tuple[Fields, ...]:
    value = parse(text)
    if isinstance(value, dict):
        value = value.get("gpu_data")
    return tuple(entry for entry in as_objects(value) if entry.number("gpu") is not None)


def parse_amd_smi(static: str, listed: str) -> Maybe[AmdAnswer]:
    entries = gpu_entries(static)
    if not entries:
        return Unknown(Why.UNREADABLE, "no GPUs in the JSON of amd-smi static")
    by_index = {entry.number("gpu"): entry for entry in gpu_entries(listed)}
    gpus = tuple(amd_gpu(entry, by_index.get(entry.number("gpu"), Fields({}))) for entry in entries)
    return AmdAnswer(driver=driver_version(entries[0].object("driver").text("version")), gpus=gpus)


def driver_version(text: str) -> str | None:
    """The version of the driver package; the in-kernel driver prints the kernel's banner, which is none."""
    return text.strip() if NUMBER_OF_VERSION.fullmatch(text.strip()) else None


def amd_gpu(static: Fields, listed: Fields) -> AmdGpu:
    asic, numa = static.object("asic"), static.object("numa")
    return AmdGpu(
        name=told(asic.text("market_name")) or "",
        uuid=told(listed.text("uuid")) or told(asic.text("asic_serial")) or "",
        memory_bytes=amount(static.object("vram"), "size"),
        pci_address=address(static.object("bus").text("bdf") or listed.text("bdf")),
        numa_node=numa.number("node"),
        gfx=told(asic.text("target_graphics_version")),
    )


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
