"""Which hardware profile of the recipes' taxonomy a host is, by the exact name of its GPUs. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inventory.facts.base import Unknown, is_known

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts

CPU = "cpu"

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
