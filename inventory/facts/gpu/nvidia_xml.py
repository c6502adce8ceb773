"""`nvidia-smi -q -x`: the fullest and most stable of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree as ET

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.pci import normalise
from inventory.facts.gpu.quantity import parse_bytes, parse_switch, told
from inventory.facts.host import GpuProcess


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """One physical GPU, in the order of nvidia-smi's index (which is the order on the bus)."""

    name: str
    uuid: str
    memory_bytes: int | None
    pci_address: str
    mig_enabled: bool | None
    processes: tuple[GpuProcess, ...] = ()


@dataclass(frozen=True, slots=True)
class NvidiaAnswer:
    driver: str | None
    cuda: str | None
    gpus: tuple[NvidiaGpu, ...]


def parse_xml(text: str) -> Maybe[NvidiaAnswer]:
    start = text.find("<?xml") if "<?xml" in text else text.find("<nvidia_smi_log")
    # Entities are the one dangerous part of XML, and nvidia-smi writes none of its own.
    if start < 0 or "<!ENTITY" in text:
        return Unknown(Why.UNREADABLE, "no XML of nvidia-smi")
    try:
        root = ET.fromstring(text[start:].strip())  # noqa: S314  (entity declarations are refused above)
    except ET.ParseError as error:
        return Unknown(Why.UNREADABLE, f"XML of nvidia-smi: {error}")
    return NvidiaAnswer(
        driver=value(root, "driver_version", "kmd_version"),
        cuda=value(root, "cuda_version", "cuda_umd_version"),
        gpus=tuple(xml_gpu(element) for element in root.findall("gpu")),
    )


def value(element: ET.Element, *paths: str) -> str | None:
    """The first of the paths that holds a value."""
    texts = (element.findtext(path) for path in paths)
    return next((text for raw in texts if raw and (text := told(raw))), None)


def xml_gpu(element: ET.Element) -> NvidiaGpu:
    """`fb_memory_usage` directly below the GPU is its own; those below `mig_devices` are slices of it."""
    return NvidiaGpu(
        name=(element.findtext("product_name") or "").strip(),
        uuid=(element.findtext("uuid") or "").strip(),
        memory_bytes=parse_bytes(element.findtext("fb_memory_usage/total") or ""),
        pci_address=pci_address(element.get("id") or value(element, "pci/pci_bus_id") or ""),
        mig_enabled=parse_switch(element.findtext("mig_mode/current_mig") or ""),
        processes=tuple(filter(None, map(xml_process, element.findall("processes/process_info")))),
    )


def pci_address(text: str) -> str:
    """The normalised address, empty for a GPU that has none (integrated ones)."""
    try:
        return normalise(text)
    except ValueError:
        return ""


def xml_process(element: ET.Element) -> GpuProcess | None:
    pid = (element.findtext("pid") or "").strip()
    if not (pid.isascii() and pid.isdecimal() and len(pid) < 11):
        return None
    return GpuProcess(
        pid=int(pid),
        name=(element.findtext("process_name") or "").strip(),
        memory_bytes=parse_bytes(element.findtext("used_memory") or ""),
    )
