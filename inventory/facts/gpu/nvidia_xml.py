"""`nvidia-smi -q -x`: the fullest and most stable of its answers."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu, pci_address, process
from inventory.facts.gpu.quantity import told

DTD = re.compile(r"<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_(v\d{1,3})\.dtd\">")


def parse_xml(text: str) -> Maybe[NvidiaAnswer]:
    start = text.find("<?xml") if "<?xml" in text else text.find("<nvidia_smi_log")
    # Entities are the one dangerous part of XML, and nvidia-smi writes none of its own.
    if start < 0 or "<!ENTITY" in text:
        return Unknown(Why.UNREADABLE, "no XML of nvidia-smi")
    try:
        root = ET.fromstring(text[start:].strip())  # noqa: S314  (entity declarations are refused above)
    except (ET.ParseError, ValueError) as error:
        return Unknown(Why.UNREADABLE, f"XML of nvidia-smi: {error}")
    attached = root.findtext("attached_gpus") or ""
    return NvidiaAnswer(
        driver=value(root, "driver_version", "kmd_version"),
        cuda=value(root, "cuda_version", "cuda_umd_version"),
        gpus=tuple(xml_gpu(element) for element in root.findall("gpu")),
        attached=int(attached) if re.fullmatch(r"[0-9]{1,3}", attached) else None,
    )


def format_version(text: str) -> str | None:
    """`v13` of the document type; old versions have none."""
    match = DTD.search(text)
    return match[1] if match else None


def value(element: ET.Element, *paths: str) -> str | None:
    """The first of the paths that holds a value."""
    texts = (element.findtext(path) for path in paths)
    return next((text for raw in texts if raw and (text := told(raw))), None)


def printed(element: ET.Element, path: str) -> str | None:
    """What stands there, `N/A` too; None where there is no such element."""
    text = element.findtext(path)
    return None if text is None else text.strip()


def xml_gpu(element: ET.Element) -> NvidiaGpu:
    """`fb_memory_usage` directly below the GPU is its own; those below `mig_devices` are slices of it."""
    processes = (
        process(one.findtext("pid") or "", one.findtext("process_name") or "", one.findtext("used_memory") or "")
        for one in element.findall("processes/process_info")
    )
    return NvidiaGpu(
        name=printed(element, "product_name") or "",
        pci_address=pci_address(element.get("id") or value(element, "pci/pci_bus_id") or ""),
        uuid=printed(element, "uuid") or "",
        memory=printed(element, "fb_memory_usage/total"),
        mig_mode=printed(element, "mig_mode/current_mig"),
        mig_devices=len(element.findall("mig_devices/mig_device")),
        persistence=printed(element, "persistence_mode"),
        addressing_mode=printed(element, "addressing_mode"),
        compute_mode=printed(element, "compute_mode"),
        ecc=printed(element, "ecc_mode/current_ecc"),
        remap_pending=printed(element, "remapped_rows/remapped_row_pending"),
        remap_failure=printed(element, "remapped_rows/remapped_row_failure"),
        recovery_action=printed(element, "gpu_recovery_action"),
        fabric_state=printed(element, "fabric/state"),
        fabric_status=printed(element, "fabric/status"),
        fabric_clique=printed(element, "fabric/cliqueId"),
        fabric_cluster=printed(element, "fabric/clusterUuid"),
        processes=tuple(one for one in processes if one),
    )
