"""Racks whose NVLink goes from tray to tray, and what NCCL must be told there."""

from __future__ import annotations

RACKS = ("gb200", "gb300")
"""Hardware profiles of such racks."""

NCCL_SETTINGS = ("NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE")
"""Both must be 1: without them NCCL takes the network, and says nothing."""
