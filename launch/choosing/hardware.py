"""Which hardware profile of the recipes' taxonomy a host is, by the exact name of its GPUs. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inventory.facts.base import Maybe, Unknown, Why, is_known

if TYPE_CHECKING:
    from inventory.facts.host import BusGpu, HostFacts

CPU = "cpu"
OTHER = "other"
BLACKWELL = 0x2900

# First match wins: GB300 before B300, H200 before H20. Names are those that the vendors' tools print.
_PROFILES: tuple[tuple[str, str], ...] = (
    (r"\bGB300\b", "gb300"),
    (r"\bGB200\b", "gb200"),
    (r"\bB300\b", "b300"),
    (r"\bB200\b", "b200"),
    (r"\bGH200\b", "gh200"),
    (r"\bH200\b", "h200"),
    (r"\bH20\b", "h20"),
    (r"\bH100\b", "h100"),
    (r"\bA100\b", "a100"),
    (r"\bL40S\b", "l40s"),
    (r"\bL4\b", "l4"),
    (r"\bGB10\b", "dgx_spark_gb10"),
    (r"\bMI355X\b", "mi355x"),
    (r"\bMI350X\b", "mi350x"),
    (r"\bMI325X\b", "mi325x"),
    (r"\bMI300X\b", "mi300x"),
)


# Numbers on the PCI bus, as pci.ids and NVIDIA's gpu-admin-tools have them, for hosts without a driver.
_ON_BUS: dict[str, tuple[str, ...]] = {
    "a100": ("20b0", "20b2", "20b3", "20b5", "20f1"),
    "h100": ("2313", "2321", "2330", "2331", "2336", "2337", "2338", "2339", "233d"),
    "h200": ("2335", "233b"),
    "h20": ("2328", "2329", "2309", "230c", "230e", "232c"),
    "gh200": ("2342", "2343", "2345", "2348"),
    "b200": ("2901",),
    "b300": ("3182",),
    "gb200": ("2941",),
    "gb300": ("31c2",),
    "l40s": ("26b9",),
    "l4": ("27b8",),
    "dgx_spark_gb10": ("2e12",),
    "mi300x": ("74a1",),
    "mi325x": ("74a5",),
    "mi350x": ("75a0",),
    "mi355x": ("75a3",),
}
_BY_NUMBER = {number: profile for profile, numbers in _ON_BUS.items() for number in numbers}


def profile_of_name(gpu_name: str) -> str | None:
    """Name the profile of one GPU; None for a GPU that the taxonomy does not have."""
    return next((profile for pattern, profile in _PROFILES if re.search(pattern, gpu_name)), None)


def profile_of(facts: HostFacts) -> str | Unknown | None:
    """Name the profile of a host: `cpu` without GPUs, None when its GPUs are unknown to us or of several kinds."""
    if not is_known(facts.gpus):
        return facts.gpus
    if facts.gpus.vendor == "none":
        return CPU
    profiles = {profile_of_name(gpu.name) for gpu in facts.gpus.devices}
    return profiles.pop() if len(profiles) == 1 else None


def profile_to_equip(facts: HostFacts) -> Maybe[str]:
    """The profile of a host that still has to be given its driver: by the PCI bus where no driver tells.

    `other`: GPUs that are surely none of the profiles. A number that is newer than our table may be any of them.
    """
    told = profile_of(facts)
    if not isinstance(told, Unknown):
        return told or OTHER
    if not is_known(facts.bus_gpus) or not facts.bus_gpus:
        return told
    found = {_BY_NUMBER.get(one.device, _unlisted(one)) for one in facts.bus_gpus}
    if None in found:
        return Unknown(Why.EMPTY, "GPUs that no hardware profile is written for")
    return found.pop() or OTHER if len(found) == 1 else OTHER


def _unlisted(gpu: BusGpu) -> str | None:
    """NVIDIA's numbers grow with the architectures: what is older than Blackwell and not in the table is none of it."""
    return OTHER if gpu.vendor == "nvidia" and int(gpu.device, 16) < BLACKWELL else None
