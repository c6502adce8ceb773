"""`HostFacts`: what one framed script tells of one host. One subject a class; readers in the files beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from inventory.facts.base import NOT_ASKED, Maybe, Unknown, Why


@dataclass(frozen=True, slots=True)
class System:
    """`clock_offset_s`: host clock minus control clock, seconds, less half the round trip."""

    id: str  # debian, ubuntu, rhel, ...
    version: str
    family: Literal["debian", "rhel", "other"]
    kernel: str
    architecture: str  # x86_64, aarch64
    boot_id: str
    hostname: str
    user: str
    uid: int
    can_sudo: bool  # `sudo -n true` worked, or uid 0
    clock_offset_s: float
    machine: str = ""  # what the firmware or the board calls itself: "Dell Inc. PowerEdge XE9680"
    hypervisor: str | None = None  # KVM, VMware, Microsoft, ...: the CPU says that it is virtual


@dataclass(frozen=True, slots=True)
class Cpu:
    """Core counts are distinct (package, core) pairs; `allowed` is the set that a process we start may run on."""

    model: str
    sockets: int
    online: tuple[int, ...]
    allowed: tuple[int, ...]
    physical_cores: int  # over online and allowed CPUs
    physical_cores_machine: int  # over all online CPUs
    packages: tuple[tuple[int, ...], ...] = ()  # the online CPUs of each socket


@dataclass(frozen=True, slots=True)
class NumaNode:
    id: int
    cpus: tuple[int, ...]  # empty: a memory-only node (HBM, CXL)
    memory_bytes: int
    allowed: bool = True  # a process we start may take memory from it
    near: tuple[
        int, ...
    ] = ()  # of a memory-only node: the nodes whose CPUs it belongs to, none if to no particular ones


@dataclass(frozen=True, slots=True)
class Memory:
    """RAM of the nodes that have CPUs: on Grace the GPUs' HBM is not the host's."""

    total_bytes: int
    available_bytes: int
    shm_bytes: int


@dataclass(frozen=True, slots=True)
class HugePages:
    """Pages that are set aside, of the kernel's default size; `size_bytes` 0: a kernel without huge pages."""

    total: int
    free: int
    size_bytes: int
    transparent: str | None  # always, madvise, never; None: not told


@dataclass(frozen=True, slots=True)
class Limit:
    """A process may raise its own `soft` limit up to `hard`. None: unlimited."""

    soft: int | None
    hard: int | None


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a process that our login starts. A unit of systemd has its own."""

    locked_memory: Limit  # bytes
    open_files: Limit
    processes: Limit  # threads of this user
    core_file: Limit  # bytes


@dataclass(frozen=True, slots=True)
class FileSystem:
    """The file system that `path` (the deepest existing parent of what was asked for) lies on."""

    asked: str
    mount: str
    type: str
    total_bytes: int
    free_bytes: int
    free_inodes: int | None
    writable: bool


@dataclass(frozen=True, slots=True)
class Block:
    """`size` as printed: bytes, or a rounded text. `rotational` and `file_system` are None where not told.

    `depth` 0: not made of another device that is listed. A device under two parents (a RAID) is listed under each.
    """

    name: str
    type: str  # disk, part, lvm, raid1, loop, rom, ...
    size: int | str
    rotational: bool | None
    file_system: str | None
    depth: int


@dataclass(frozen=True, slots=True)
class Interface:
    name: str
    state: str  # up, down, unknown
    mtu: int
    addresses: tuple[str, ...]  # without prefix length; loopback included on lo only
    speed_mbit: int | None


@dataclass(frozen=True, slots=True)
class Route:
    """How this host reaches `to`: the interface and source address the kernel would use (`ip route get`)."""

    to: str
    interface: str
    source: str


@dataclass(frozen=True, slots=True)
class Network:
    interfaces: tuple[Interface, ...]
    routes: tuple[Route, ...]  # to every address that was asked for
    ephemeral_ports: tuple[int, int]  # net.ipv4.ip_local_port_range, inclusive


@dataclass(frozen=True, slots=True)
class Gid:
    """An address of a port. RoCE has several, and NCCL must be given the index of a routable one of type v2."""

    index: int
    value: str  # as the kernel prints it: eight groups of four digits
    type: str  # "IB", "RoCE v1", "RoCE v2"; empty: not told


@dataclass(frozen=True, slots=True)
class RdmaPort:
    """Texts as their source prints them. Its kind is `link_layer`: Ethernet ports have an InfiniBand transport too."""

    number: int
    state: str = ""
    physical_state: str = ""
    rate: str = ""
    link_layer: str = ""
    gids: tuple[Gid, ...] = ()  # the first sixteen, without those that are zero

    @property
    def is_active(self) -> bool:
        return "ACTIVE" in self.state.upper()

    @property
    def gigabits(self) -> float | None:
        digits = self.rate.partition(" ")[0]
        return float(digits) if digits.replace(".", "", 1).isdecimal() else None


@dataclass(frozen=True, slots=True)
class RdmaDevice:
    """`card` is the system image GUID: two devices with one are two ports of one card."""

    name: str
    type: str = ""
    firmware: str = ""
    board: str = ""
    card: str = ""
    numa_node: int | None = None
    netdevs: tuple[str, ...] = ()
    ports: tuple[RdmaPort, ...] = ()


@dataclass(frozen=True, slots=True)
class Listener:
    address: str  # as the kernel shows it: 0.0.0.0, ::, 127.0.0.1, ...
    port: int
    process: str | None  # name and pid if the kernel tells us


@dataclass(frozen=True, slots=True)
class GpuProcess:
    pid: int
    name: str
    memory_bytes: int | None


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
    fabric_state: str | None = None  # "Completed" when the NVLink fabric took the GPU in
    fabric_status: str | None = None
    fabric_clique: str | None = None
    fabric_cluster: str | None = None
    mig_devices: int = 0


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


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python environment that bringup made: `<state_dir>/envs/<digest>`, complete if its marker is there."""

    digest: str
    vllm_version: str
    complete: bool
    simulated: bool


@dataclass(frozen=True, slots=True)
class Weights:
    """A weight folder with a manifest: `<state_dir>/weights/<org>--<repo>/<commit>`."""

    repo: str
    commit: str
    bytes: int
    files: int
    simulated: bool


@dataclass(frozen=True, slots=True)
class Software:
    systemd: str | None  # version when systemd is PID 1 and answers, else None
    container: str | None  # docker, lxc, systemd-nspawn, lab ... None: a machine
    docker: str | None
    podman: str | None
    python: str | None
    uv: str | None
    environments: tuple[Environment, ...]
    weights: tuple[Weights, ...]
    pip: str | None = None  # of `python`
    container_toolkit: str | None = None  # NVIDIA's: gives GPUs to containers
    docker_runtimes: tuple[str, ...] | None = None  # None: docker does not tell
    cdi_specs: tuple[str, ...] = ()  # files that describe devices to container engines, by path


@dataclass(frozen=True, slots=True)
class RunningDeployment:
    """A deployment as the host's state dir and process table tell it."""

    name: str
    generation: str
    head: bool
    state: Literal["running", "partial", "dead", "stopped"]  # partial: main process gone, others left
    supervisor: Literal["systemd", "process-group"]
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """What psutil and py-cpuinfo say in `python`, an interpreter on the host; None: that library is not there."""

    python: str
    physical_cores_machine: int | None
    allowed: tuple[int, ...] | None
    flags: tuple[str, ...] | None


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

    def file_system(self, path: str) -> Maybe[FileSystem]:
        """What `path` lies on; `path` must have been asked for. One on a server that hangs is unknown alone."""
        if isinstance(self.file_systems, Unknown):
            return self.file_systems
        found = (one for one in self.file_systems if one.asked == path)
        return next(found, Unknown(Why.TIMED_OUT, f"no answer about {path}"))
