"""What a rank would be given where it is started: not what the login has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from inventory.facts.base import NOT_ASKED, Maybe
from inventory.facts.host.machine import Limit


@dataclass(frozen=True, slots=True)
class Pids:
    """Processes and threads. None: no limit, or not told."""

    maximum: int | None = None  # the lowest of the cgroup and those above it
    current: int | None = None  # in the cgroup with that limit
    threads_maximum: int | None = None  # kernel.threads-max
    pid_maximum: int | None = None  # kernel.pid_max
    threads: int | None = None  # of the whole machine, now


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file in /dev/shm that an engine made. `mapped` False: no process that we may look at uses it."""

    name: str
    bytes: int
    uid: int
    mapped: bool


@dataclass(frozen=True, slots=True)
class SharedMemory:
    total_bytes: int
    free_bytes: int
    leftovers: tuple[Leftover, ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """A device file. `opens`: for reading and writing; of a GPU itself only the permission is asked."""

    path: str
    opens: bool
    group: str = ""
    gid: int | None = None
    mode: str = ""  # as `ls -l` prints it


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """`where` it was read; a `systemd-unit` is a transient one with the settings of the unit of a deployment.

    `environment`: the variables that an engine or its libraries listen to, secrets as `***`. `is_cleared`: ranks are
    started with `env -i`, so that nothing of it reaches them.
    """

    where: Literal["systemd-unit", "container", "process-group", "login"]
    is_cleared: bool = True
    user: str = ""
    uid: int | None = None
    groups: tuple[int, ...] = ()  # ids
    cgroup: str = ""  # path; of cgroups v1 that of systemd's own hierarchy
    locked_memory: Maybe[Limit] = NOT_ASKED  # bytes
    open_files: Maybe[Limit] = NOT_ASKED
    processes: Maybe[Limit] = NOT_ASKED  # of the user, threads included
    engine_locked_memory: Maybe[Limit] = NOT_ASKED  # of the daemon of the container engine
    cpus_allowed: Maybe[tuple[int, ...]] = NOT_ASKED
    physical_cores: Maybe[int] = NOT_ASKED  # distinct cores of the online CPUs among `cpus_allowed`
    nodes_allowed: Maybe[tuple[int, ...]] = NOT_ASKED  # whose memory may be used
    memory_policy: Maybe[str] = NOT_ASKED  # default, bind:0, prefer:1, ...
    memory_maximum: Maybe[int | None] = NOT_ASKED  # bytes; the lowest of the cgroup and those above; None: no limit
    pids: Maybe[Pids] = NOT_ASKED
    shared_memory: Maybe[SharedMemory] = NOT_ASKED
    environment: Maybe[tuple[tuple[str, str], ...]] = NOT_ASKED
    devices: Maybe[tuple[Device, ...]] = NOT_ASKED
    ipc_lock: Maybe[bool] = NOT_ASKED  # CAP_IPC_LOCK: memory may be locked beyond the limit
    sys_nice: Maybe[bool] = NOT_ASKED  # CAP_SYS_NICE
