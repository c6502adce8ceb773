"""What the machine and its operating system are, and what they let a process have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
    cores: tuple[tuple[int, ...], ...] = ()  # the allowed CPUs of each core; none: the kernel does not tell


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
class NumaBind:
    """What numactl may do in a process that we start, tried for each node that has CPUs."""

    numactl: bool  # the program is there
    cpu: tuple[int, ...] = ()  # nodes whose CPUs it may bind to
    memory: tuple[int, ...] = ()  # nodes whose memory too
    tried: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """RAM of the nodes that have CPUs: on Grace the GPUs' HBM is not the host's."""

    total_bytes: int
    available_bytes: int
    shm_bytes: int


@dataclass(frozen=True, slots=True)
class HugePagePool:
    size_bytes: int
    total: int
    free: int


@dataclass(frozen=True, slots=True)
class HugePages:
    """Pages that are set aside, of the kernel's default size; `size_bytes` 0: a kernel without huge pages."""

    total: int
    free: int
    size_bytes: int
    transparent: str | None  # always, madvise, never; None: not told
    others: tuple[HugePagePool, ...] = ()  # of other sizes, those with pages alone


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
