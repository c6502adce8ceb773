"""`HostFacts`: what one framed script tells of one host. One subject a class; readers in the files beside."""

from __future__ import annotations

from dataclasses import dataclass

from inventory.facts.base import NOT_ASKED, Maybe, Unknown, Why
from inventory.facts.host.containers import Container, Docker, Image
from inventory.facts.host.context import (
    Device,
    LaunchContext,
    Leftover,
    Pids,
    SharedMemory,
)
from inventory.facts.host.driver import (
    Bridge,
    Driver,
    Library,
    Nccl,
    NvlinkErrors,
    Xid,
)
from inventory.facts.host.gpu import (
    NEAREST_FIRST,
    NO_HEALTH,
    BusGpu,
    Fabric,
    Gpu,
    GpuHealth,
    GpuProcess,
    Gpus,
    ImexDomain,
    ImexNode,
    Link,
    Process,
)
from inventory.facts.host.machine import (
    Cpu,
    HugePagePool,
    HugePages,
    Limit,
    Limits,
    Memory,
    NumaBind,
    NumaNode,
    System,
)
from inventory.facts.host.network import (
    Gid,
    Interface,
    Listener,
    Names,
    Network,
    RdmaDevice,
    RdmaPort,
    Resolved,
    Route,
)
from inventory.facts.host.software import (
    Environment,
    RunningDeployment,
    SecondOpinion,
    Software,
    Weights,
)
from inventory.facts.host.storage import (
    Block,
    CacheFolder,
    Caches,
    FileLock,
    FileSystem,
    Mount,
    StoredFile,
    WeightFolder,
)
from inventory.facts.host.upkeep import (
    Busy,
    Load,
    Session,
    SshServer,
    Toolchain,
    Updates,
    Way,
)

__all__ = (
    "NEAREST_FIRST",
    "NO_HEALTH",
    "Block",
    "Bridge",
    "BusGpu",
    "Busy",
    "CacheFolder",
    "Caches",
    "Container",
    "Cpu",
    "Device",
    "Docker",
    "Driver",
    "Environment",
    "Fabric",
    "FileLock",
    "FileSystem",
    "Gid",
    "Gpu",
    "GpuHealth",
    "GpuProcess",
    "Gpus",
    "HostFacts",
    "HugePagePool",
    "HugePages",
    "Image",
    "ImexDomain",
    "ImexNode",
    "Interface",
    "LaunchContext",
    "Leftover",
    "Library",
    "Limit",
    "Limits",
    "Link",
    "Listener",
    "Load",
    "Memory",
    "Mount",
    "Names",
    "Nccl",
    "Network",
    "NumaBind",
    "NumaNode",
    "NvlinkErrors",
    "Pids",
    "Process",
    "RdmaDevice",
    "RdmaPort",
    "Resolved",
    "Route",
    "RunningDeployment",
    "SecondOpinion",
    "Session",
    "SharedMemory",
    "Software",
    "SshServer",
    "StoredFile",
    "System",
    "Toolchain",
    "Updates",
    "Way",
    "WeightFolder",
    "Weights",
    "Xid",
)


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All facts of one host. `noise`: what the login printed around our answer (first 80 characters)."""

    host: str
    system: Maybe[System]
    cpu: Maybe[Cpu]
    numa: Maybe[tuple[NumaNode, ...]]
    memory: Maybe[Memory]
    file_systems: Maybe[tuple[FileSystem, ...]]
    network: Maybe[Network]
    listeners: Maybe[tuple[Listener, ...]]
    gpus: Maybe[Gpus]
    software: Maybe[Software]
    deployments: Maybe[tuple[RunningDeployment, ...]]
    noise: str
    seconds: float
    simulated: bool = False  # a lab host: its hardware is made up
    rdma: Maybe[tuple[RdmaDevice, ...]] = NOT_ASKED
    blocks: Maybe[tuple[Block, ...]] = NOT_ASKED
    cpu_flags: Maybe[tuple[str, ...]] = NOT_ASKED  # as the kernel lists them; asked by probe alone
    second_opinion: Maybe[SecondOpinion] = NOT_ASKED
    limits: Maybe[Limits] = NOT_ASKED
    huge_pages: Maybe[HugePages] = NOT_ASKED
    fabric: Maybe[Fabric] = NOT_ASKED
    numa_bind: Maybe[NumaBind] = NOT_ASKED  # in the launch context
    context: Maybe[LaunchContext] = NOT_ASKED
    numa_balancing: Maybe[int] = NOT_ASKED  # kernel.numa_balancing
    session: Maybe[Session] = NOT_ASKED
    ssh_server: Maybe[SshServer] = NOT_ASKED
    updates: Maybe[Updates] = NOT_ASKED
    toolchain: Maybe[Toolchain] = NOT_ASKED
    load: Maybe[Load] = NOT_ASKED
    missing_tools: Maybe[tuple[str, ...]] = NOT_ASKED
    glibc: Maybe[str] = NOT_ASKED  # version
    machine_digest: Maybe[str] = NOT_ASKED  # of /etc/machine-id
    clock_synchronised: Maybe[bool] = NOT_ASKED
    lock: Maybe[str] = NOT_ASKED  # the line of who holds the state dir; empty: nobody
    lock_holder: Maybe[str] = NOT_ASKED  # ours, alive or gone (on the control machine), elsewhere; empty: no lock
    way: Maybe[Way] = NOT_ASKED
    late_sections: tuple[str, ...] = ()  # of the script: `nvidia: no answer before its deadline`
    read_at: float | None = None  # seconds since 1970 on the control machine
    oom_kills: Maybe[tuple[str, ...]] = NOT_ASKED  # of the last day: `name (pid 12), 1.5 h ago`
    mounts: Maybe[tuple[Mount, ...]] = NOT_ASKED
    names: Maybe[Names] = NOT_ASKED
    proxies: Maybe[tuple[tuple[str, str], ...]] = NOT_ASKED  # variables of the login, without names and passwords
    weight_folders: Maybe[tuple[WeightFolder, ...]] = NOT_ASKED
    locks: Maybe[tuple[FileLock, ...]] = NOT_ASKED  # below weights and caches
    caches: Maybe[Caches] = NOT_ASKED
    docker: Maybe[Docker] = NOT_ASKED
    hub_token: Maybe[bool] = NOT_ASKED  # whether downloads have one; never the token itself
    installer_settings: Maybe[tuple[tuple[str, str], ...]] = NOT_ASKED  # PIP_* and UV_* of the login
    driver: Maybe[Driver] = NOT_ASKED
    xids: Maybe[tuple[Xid, ...]] = NOT_ASKED  # since boot, as far back as the log goes
    nvlink_errors: Maybe[tuple[NvlinkErrors, ...]] = NOT_ASKED
    processes: Maybe[tuple[Process, ...]] = NOT_ASKED  # on GPUs, of vLLM, and their ancestors
    nccl: Maybe[tuple[Nccl, ...]] = NOT_ASKED
    bridges: Maybe[tuple[Bridge, ...]] = NOT_ASKED  # above GPUs
    boot_arguments: Maybe[str] = NOT_ASKED  # of the running kernel
    bus_gpus: Maybe[tuple[BusGpu, ...]] = NOT_ASKED  # of NVIDIA and AMD, with a driver or without

    def file_system(self, path: str) -> Maybe[FileSystem]:
        """What `path` lies on; `path` must have been asked for. One on a server that hangs is unknown alone."""
        if isinstance(self.file_systems, Unknown):
            return self.file_systems
        found = (one for one in self.file_systems if one.asked == path)
        return next(found, Unknown(Why.TIMED_OUT, f"no answer about {path}"))
