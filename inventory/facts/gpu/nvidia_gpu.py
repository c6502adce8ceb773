"""What nvidia-smi tells of GPUs, in whichever form it was asked, before it is joined with the PCI bus."""

from __future__ import annotations

from dataclasses import dataclass

from inventory.facts.gpu.pci import normalise
from inventory.facts.gpu.quantity import parse_bytes, parse_switch
from inventory.facts.host import GpuProcess


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """One physical GPU, in the order of nvidia-smi's index (which is the order on the bus).

    Texts are as printed (`N/A` among them); None where the answer has no such field. `memory` is the GPU's own, never
    that of a MIG slice. `pci_address` is normalised, empty for a GPU that has none (integrated ones).
    """

    name: str
    pci_address: str
    uuid: str = ""
    memory: str | None = None
    mig_mode: str | None = None
    mig_devices: int = 0
    mig_profiles: tuple[str, ...] = ()
    persistence: str | None = None
    addressing_mode: str | None = None
    compute_mode: str | None = None
    ecc: str | None = None
    remap_pending: str | None = None
    remap_failure: str | None = None
    recovery_action: str | None = None
    fabric_state: str | None = None
    fabric_status: str | None = None
    fabric_clique: str | None = None
    fabric_cluster: str | None = None
    fabric_health: tuple[tuple[str, str], ...] = ()
    peer_type: str | None = None
    remapped_rows: str | None = None
    uncorrectable: tuple[str, ...] = ()  # counters of ECC since the driver was loaded
    slowdowns: tuple[tuple[str, str], ...] = ()  # reasons and whether they are active
    power_limit: str | None = None
    clock_max: str | None = None
    vbios: str | None = None
    free: str | None = None
    processes: tuple[GpuProcess, ...] = ()

    @property
    def memory_bytes(self) -> int | None:
        """None for unified memory, which belongs to the host."""
        return parse_bytes(self.memory or "", unit="MiB")

    @property
    def free_bytes(self) -> int | None:
        return parse_bytes(self.free or "", unit="MiB")

    @property
    def mig_enabled(self) -> bool | None:
        return parse_switch(self.mig_mode or "")


@dataclass(frozen=True, slots=True)
class NvidiaAnswer:
    """`cuda` is the newest CUDA that the driver runs, not one that is installed. `attached`: GPUs that it announces."""

    driver: str | None
    cuda: str | None
    gpus: tuple[NvidiaGpu, ...]
    attached: int | None = None


def pci_address(text: str) -> str:
    """The normalised address, empty where there is none."""
    try:
        return normalise(text)
    except ValueError:
        return ""


def process(pid: str, name: str, memory: str) -> GpuProcess | None:
    """None where the pid is none: a slice's line, a process that ended."""
    digits = pid.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 11):
        return None
    return GpuProcess(pid=int(digits), name=name.strip(), memory_bytes=parse_bytes(memory))
