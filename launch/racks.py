"""Racks whose NVLink goes from tray to tray: what NCCL must be told to use it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from launch.reasons import Reason

if TYPE_CHECKING:
    from launch.placement import Placement

RACKS = ("gb200", "gb300")
"""Hardware profiles of such racks."""

ENVIRONMENT: Mapping[str, str] = {"NCCL_MNNVL_ENABLE": "1", "NCCL_CUMEM_ENABLE": "1"}
"""Both are asked for: with them NCCL ends where it finds no NVLink domain, instead of taking the network in silence."""

EXPERTS = frozenset({"--enable-expert-parallel", "--enable_expert_parallel", "-ep"})


def rack_env(hardware: str, placement: Placement, argv: tuple[str, ...] | list[str]) -> dict[str, str]:
    """The variables for ranks that talk from tray to tray; none elsewhere."""
    if hardware not in RACKS or len(placement.nodes) < 2:
        return {}
    spans = placement.hosts_per_rank > 1 or not EXPERTS.isdisjoint(argv)
    return dict(ENVIRONMENT) if spans else {}


def why_racks(hardware: str, placement: Placement, argv: tuple[str, ...] | list[str]) -> Iterator[Reason]:
    if told := rack_env(hardware, placement, argv):
        words = " ".join(f"{name}={value}" for name, value in told.items())
        yield Reason("NVLink from tray to tray", words, "asked for, so that NCCL ends where the domain is not up")
