"""GPUs, how far they are from each other and from NICs, and what NVLink needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class GpuProcess:
    pid: int
    name: str
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Process:
    """A process on a GPU, an ancestor of one, or one of vLLM: of what the process table says a line each."""

    pid: int
    parent: int
    user: str
    started: str  # as ps prints it
    command: str  # at most 160 characters


@dataclass(frozen=True, slots=True)
class GpuHealth:
    """What else the vendor's tool tells of a GPU; None where it does not. Texts are as printed."""

    persistence: bool | None = None
    ecc: bool | None = None
    remap_pending: bool | None = None  # rows of memory are to be remapped at the next reset
    remap_failure: bool | None = None
    recovery_action: str | None = None  # "None", "Reset", "Reboot", "Drain P2P", ...
    compute_mode: str | None = None
    addressing_mode: str | None = None  # "ATS", "HMM", "None"
    fabric_state: str | None = None  # "Completed" when the NVLink fabric took the GPU in; None: N/A
    fabric_status: str | None = None
    fabric_clique: str | None = None
    fabric_cluster: str | None = None
    mig_devices: int = 0
    fabric_health: tuple[tuple[str, str], ...] = ()  # each entry and what it says: ("bandwidth", "Full")
    peer_type: str | None = None  # "Switch Connected", "Direct Connected"
    remapped_rows: int | None = None  # of memory, for uncorrectable errors, in the GPU's life
    uncorrectable_errors: int | None = None  # of memory and caches, since the driver was loaded
    slowdowns: tuple[str, ...] | None = None  # that are active: hw_slowdown, sw_thermal_slowdown, ...
    power_limit_w: float | None = None
    clock_max_mhz: int | None = None  # of the SMs
    vbios: str | None = None


NO_HEALTH = GpuHealth()


@dataclass(frozen=True, slots=True)
class Gpu:
    index: int
    name: str  # exact, as the vendor's tool prints it
    uuid: str
    memory_bytes: int | None  # None: unified memory, the tool does not tell
    pci_address: str  # lower case, 8-digit domain: 00000008:01:00.0
    numa_node: int | None  # a node that has CPUs, never the HBM node
    compute_capability: str | None  # "10.0"
    mig_enabled: bool | None
    processes: tuple[GpuProcess, ...]
    health: GpuHealth = NO_HEALTH
    free_bytes: int | None = None  # now, as the tool tells


@dataclass(frozen=True, slots=True)
class BusGpu:
    """A GPU as the PCI bus has it: there whether a driver is loaded or not."""

    address: str  # lower case, 8-digit domain: 00000008:01:00.0
    vendor: str  # nvidia, amd
    device: str  # its number there, four hexadecimal digits: 2941


@dataclass(frozen=True, slots=True)
class Link:
    """How far it is from a GPU to another, or to a NIC, in the words of the vendor's tool.

    NV18: eighteen NVLinks; XGMI; across PCIe, the nearest first: PIX, PXB, PHB, NODE, SYS; PCIe: not told how far.
    """

    gpu: int  # index
    to: int | str  # index of a GPU, always a higher one; or name of an RDMA device
    kind: str


NEAREST_FIRST = ("PIX", "PXB", "PHB", "NODE")
"""SYS, across sockets, is nowhere near."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """`vendor` is "none" only when neither a driver nor a PCI device of a known vendor is there."""

    vendor: Literal["nvidia", "amd", "none"]
    driver: str | None
    runtime_ceiling: str | None  # highest CUDA (ROCm) that the driver can run
    devices: tuple[Gpu, ...]
    simulated: bool  # the host says that it belongs to the lab
    hidden: tuple[str, ...] = ()  # PCI addresses of the vendor's GPUs that its driver does not show
    links: tuple[Link, ...] = ()  # of pairs that the tool or the kernel tells of

    def nearest_nics(self, gpu: int) -> tuple[Link, ...]:
        """To the NICs that are nearest to a GPU; none where all are on another socket."""
        links = [one for one in self.links if one.gpu == gpu and isinstance(one.to, str) and one.kind in NEAREST_FIRST]
        least = min((NEAREST_FIRST.index(one.kind) for one in links), default=0)
        return tuple(one for one in links if one.kind == NEAREST_FIRST[least])


@dataclass(frozen=True, slots=True)
class Fabric:
    """What NVLink between GPUs needs besides the driver. States are systemd's: active, inactive, failed, ...

    "absent": no such unit; None: no systemd. Each GPU's own state in the fabric is in its `health`.
    """

    manager: str | None  # nvidia-fabricmanager: where the host itself has NVSwitches
    manager_version: str | None  # must be the driver's
    imex: str | None  # nvidia-imex: NVLink to GPUs of other hosts
    imex_nodes: tuple[str, ...] | None  # as nodes_config.cfg names them; None: it could not be read
    imex_channels: tuple[int, ...] | None  # in /dev/nvidia-caps-imex-channels; None: it could not be read
    switches: int | None = None  # NVSwitches on the PCI bus
    manager_says: str | None = None  # the last line of its log that complains
    imex_device: bool | None = None  # the kernel knows the device class of IMEX channels (/proc/devices)
    imex_domain: ImexDomain | None = None  # what nvidia-imex-ctl says; None: it does not


@dataclass(frozen=True, slots=True)
class ImexNode:
    index: int
    address: str
    state: str  # READY, UNAVAILABLE, ...
    version: str | None


@dataclass(frozen=True, slots=True)
class ImexDomain:
    """The domain as one of its nodes sees it. `broken`: pairs (from, to, symbol) whose symbol is not C."""

    state: str  # UP, DEGRADED, DOWN; or the state of this one node where no more was told
    nodes: tuple[ImexNode, ...] = ()
    broken: tuple[tuple[int, int, str], ...] = ()
