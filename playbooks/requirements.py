"""What a launch needs of its hosts: the bridge from `launch` (which decides) to the checks (which only compare).

It lives here because checks may not import `launch`. Plain data: `launch/requirements.py` fills it from a placement.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes that one host carries: A API servers, launcher, engine cores, workers, coordinator."""

    api_servers: int
    launchers: int
    engine_cores: int  # data-parallel ranks of this host
    workers: int  # engine cores x TP x PP
    coordinators: int

    @property
    def total(self) -> int:
        return self.api_servers + self.launchers + self.engine_cores + self.workers + self.coordinators


@dataclass(frozen=True, slots=True)
class Space:
    """`bytes_needed` more bytes will be written below `path`; 0 when all of it is there already."""

    path: str
    bytes_needed: int
    purpose: str  # weights, environment, state


@dataclass(frozen=True, slots=True)
class HostRequirements:
    """What the plan asks of one host.

    `gpus`: indices used, empty for CPU. `memory_per_gpu_bytes`: weights and least working space per GPU, None when
    the recipe does not tell. `interface`/`address`: what the ranks bind and advertise. `ports`: TCP ports that must
    be free here. `own_pids`: processes of the deployment being replaced, whose ports and memory do not count.
    `needs_root`: what of the plan needs root here, in words. `gpu_runtime`: the CUDA or ROCm ("13.0") that the pinned
    build was made for, None when it is not known.
    """

    host: str
    gpus: tuple[int, ...]
    gpu_profile: str | None  # "gb200"; None for CPU
    memory_per_gpu_bytes: int | None
    host_memory_bytes: int | None
    processes: Processes
    address: str | None
    interface: str | None
    ports: tuple[int, ...]
    space: tuple[Space, ...]
    own_pids: tuple[int, ...]
    needs_root: tuple[str, ...] = ()
    gpu_runtime: str | None = None


@dataclass(frozen=True, slots=True)
class Requirements:
    """What the plan asks of the gang.

    `head_address` is where followers join; `ranks` maps each global data-parallel
    rank to its host, in order. `argv_errors`: what the pinned vLLM's own option schema refuses, by host.
    `environment`: digest of the Python environment that the ranks run in, None when the plan does not pin one.
    """

    hosts: tuple[HostRequirements, ...]
    head: str
    head_address: str | None
    vllm_version: str
    data_parallel_size: int
    ranks: tuple[str, ...]
    argv_errors: tuple[tuple[str, str], ...]  # (host, what is refused and the nearest valid form)
    environment: str | None = None

    def of(self, host: str) -> HostRequirements:
        return next(one for one in self.hosts if one.host == host)
