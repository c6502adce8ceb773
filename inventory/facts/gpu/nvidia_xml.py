"""`nvidia-smi -q -x`: the fullest and most stable of its answers."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu, pci_address, process
from inventory.facts.gpu.quantity import told

SLOWDOWNS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
"""What is wrong with cooling or power. A cap on power that was set (sw_power_cap) is not among them."""
END = "</nvidia_smi_log>"
DTD = re.compile(r"<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_(v\d{1,3})\.dtd\">")


def parse_xml(text: str) -> Maybe[NvidiaAnswer]:
    start = text.find("<?xml") if "<?xml" in text else text.find("<nvidia_smi_log")
    # Entities are the one dangerous part of XML, and nvidia-smi writes none of its own.
    if start < 0 or "<!ENTITY" in text:
        return Unknown(Why.UNREADABLE, "no XML of nvidia-smi")
    try:
        root = ET.fromstring(text[start:].partition(END)[0] + END)  # noqa: S314  (entity declarations are refused above)
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


def uncorrectable(element: ET.Element) -> tuple[str, ...]:
    """The volatile counters of uncorrectable errors; older drivers have a sum for double bits instead."""
    volatile = element.find("ecc_errors/volatile")
    if volatile is None:
        return ()
    own = tuple((one.text or "").strip() for one in volatile if "uncorrectable" in one.tag)
    return own or tuple((one.text or "").strip() for one in volatile.findall("double_bit/total"))


def slowdowns(element: ET.Element) -> tuple[tuple[str, str], ...]:
    """Of `clocks_event_reasons`, which older drivers call `clocks_throttle_reasons`."""
    told = {
        one.tag.partition("_reason_")[2]: (one.text or "").strip()
        for name in ("clocks_event_reasons", "clocks_throttle_reasons")
        for one in element.findall(f"{name}/*")
    }
    return tuple((name, told[name]) for name in SLOWDOWNS if name in told)


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
        fabric_health=tuple((one.tag, (one.text or "").strip()) for one in element.findall("fabric/health/*")),
        peer_type=printed(element, "platformInfo/peer_type"),
        remapped_rows=printed(element, "remapped_rows/remapped_row_unc"),
        uncorrectable=uncorrectable(element),
        slowdowns=slowdowns(element),
        power_limit=printed(element, "gpu_power_readings/current_power_limit")
        or printed(element, "gpu_power_readings/enforced_power_limit")
        or printed(element, "power_readings/power_limit"),
        clock_max=printed(element, "max_clocks/sm_clock"),
        vbios=printed(element, "vbios_version"),
        free=printed(element, "fb_memory_usage/free"),
        processes=tuple(one for one in processes if one),
    )
