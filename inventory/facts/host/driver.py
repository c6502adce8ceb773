"""What the kernel, its log and the dynamic linker tell of GPU drivers and of the libraries that talk to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library that the dynamic linker finds. `version`: by the name of the file that it is a link to."""

    path: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Driver:
    """Of NVIDIA's and AMD's kernel modules. None: not there or not told."""

    module: str | None = None  # version of the loaded nvidia module
    open_module: bool | None = None  # the open kernel module
    library: str | None = None  # version of NVML's library
    libcuda: tuple[Library, ...] | None = None  # in the order in which the linker takes them; None: not asked
    parameters: tuple[tuple[str, str], ...] = ()  # of the nvidia module
    loaded: tuple[str, ...] | None = None  # of the modules that matter to GPUs and RDMA: those that are loaded
    memory_peers: tuple[str, ...] = ()  # that the RDMA stack knows
    nvlsm: bool | None = None  # NVLink's subnet manager runs
    next_kernel: str | None = None  # the newest installed kernel: the next boot takes it
    next_kernel_module: bool | None = None  # it has the nvidia module
    amdgpu: str | None = None  # version of the module; that of the kernel itself has none
    rocm: str | None = None  # installed on the host


@dataclass(frozen=True, slots=True)
class Xid:
    """An error of a GPU in the kernel's log. `code` None: it only says that the GPU has fallen off the bus."""

    code: int | None
    gpu: str  # PCI address without function: 0000:9c:00
    age_s: float | None  # before now; None: not told
    text: str


@dataclass(frozen=True, slots=True)
class NvlinkErrors:
    """The sum of all error counters of a GPU's links since its last reset."""

    gpu: int  # index
    errors: int


@dataclass(frozen=True, slots=True)
class Nccl:
    """The NCCL (or RCCL) and NVSHMEM in an environment of bringup. `sha256` is what the wheel's record says."""

    environment: str  # digest
    path: str
    version: str
    sha256: str
    bytes: int | None
    nvshmem: str | None = None


@dataclass(frozen=True, slots=True)
class Bridge:
    """A PCI bridge above a GPU. `acs`: what its ACSCtl switches on: SrcValid, ReqRedir, ..."""

    address: str
    acs: tuple[str, ...]
