"""How many bytes the driver reports for one GPU of a hardware profile, for plans without hosts. Pure.

Vendors' figures are in GB or in GiB as it suits them: what counts is what the driver reports, which vLLM takes its
share of. Hosts that are asked tell it themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.catalogue.taxonomy import Profile

MIB = 1 << 20
GB = 10**9

REPORTED_MIB = MappingProxyType(
    {
        "a100": 81920,
        "b200": 183359,
        "gb200": 189471,
        "gb300": 284208,
        "gh200": 97871,
        "h100": 81559,
        "h200": 143771,
        "l4": 23034,
        "l40s": 46068,
    }
)
"""MiB as the driver tells them, from captures of such GPUs."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `bytes`: the driver's total, None where it is not known or there is none; `generation`: `hopper`."""

    bytes: int | None
    generation: str = ""
    source: str = ""


def of_profile(hardware: str, profile: Profile) -> Gpu:
    """A GPU of a hardware profile, where no host can be asked."""
    if mib := REPORTED_MIB.get(hardware):
        return Gpu(mib * MIB, profile.kind, f"{mib} MiB, as the driver tells it on such GPUs")
    if not profile.vram_gb:
        return Gpu(None, profile.kind, "no GPU memory in the hardware profile")
    each = profile.vram_gb / profile.gpus
    return Gpu(int(each * GB), profile.kind, f"{each:g} GB, the vendor's figure; a driver may report up to 7 % more")
