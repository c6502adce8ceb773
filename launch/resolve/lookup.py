"""The two ways in which recipes are keyed by hardware. They differ on purpose; do not mix them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.catalogue.taxonomy import Profile

T = TypeVar("T")


def keyed(values: Mapping[str, T], hardware: str, profile: Profile) -> T | None:
    """By exact id, else generation, else brand, else `default`: the first that is there."""
    keys = (hardware, profile.kind, profile.brand.lower(), "default")
    return next((values[key] for key in keys if key and key in values), None)


def by_generation(blocks: Mapping[str, T], profile: Profile) -> T | None:
    """By generation, else, for NVIDIA only, `nvidia`. An empty block is a block."""
    if profile.kind in blocks:
        return blocks[profile.kind]
    return blocks.get("nvidia") if profile.brand.lower() == "nvidia" else None


def number(value: float | Mapping[str, float] | None, hardware: str, profile: Profile) -> float | None:
    """A figure that is one number or keyed by hardware."""
    if value is None or isinstance(value, int | float):
        return value
    return keyed(value, hardware, profile)
