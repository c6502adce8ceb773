"""Racks whose NVLink goes from tray to tray: what NCCL must be told to use it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from launch.choosing.reasons import Reason
from playbooks.argv import options
from playbooks.racks import NCCL_SETTINGS, RACKS

if TYPE_CHECKING:
    from launch.placing.placement import Placement


def rack_env(hardware: str, placement: Placement, argv: Sequence[str]) -> dict[str, str]:
    """The variables for ranks that talk from tray to tray; none elsewhere."""
    if hardware not in RACKS or len(placement.nodes) < 2:
        return {}
    spans = placement.hosts_per_rank > 1 or "--enable-expert-parallel" in options(argv)
    return dict.fromkeys(NCCL_SETTINGS, "1") if spans else {}


def why_racks(hardware: str, placement: Placement, argv: Sequence[str]) -> Iterator[Reason]:
    if told := rack_env(hardware, placement, argv):
        words = " ".join(f"{name}={value}" for name, value in told.items())
        yield Reason("NVLink from tray to tray", words, "asked for, so that NCCL ends where the domain is not up")
