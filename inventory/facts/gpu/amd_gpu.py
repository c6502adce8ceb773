"""What AMD's tools and the kernel tell of GPUs, before it is joined with the PCI bus."""

from __future__ import annotations

from dataclasses import dataclass

from inventory.facts.host import GpuProcess


@dataclass(frozen=True, slots=True)
class AmdGpu:
    """One GPU as HIP counts them: a partition where the card is partitioned, a die where it has several."""

    name: str
    uuid: str
    memory_bytes: int | None
    pci_address: str  # normalised; empty where not told
    numa_node: int | None
    gfx: str | None  # "gfx942"
    processes: tuple[GpuProcess, ...] = ()
    cpus: tuple[int, ...] = ()  # near ones, by the mask: the list that stands beside it can be wrong


@dataclass(frozen=True, slots=True)
class AmdAnswer:
    driver: str | None
    gpus: tuple[AmdGpu, ...]
