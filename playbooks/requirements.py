"""What a launch needs of its hosts: the bridge from `launch` (which decides) to the checks (which only compare).

It lives here because checks may not import `launch`. Plain data: `launch/building/requirements.py` fills it from a
placement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts


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
class WeightFile:
    """A file of the pinned revision. `path` is below the model's folder; `sha256` None: the hub tells none."""

    path: str
    size: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ExpectedWeights:
    """The checkpoint that the ranks will read. `files` is None when no manifest has been resolved."""

    repo: str
    commit: str | None
    path: str | None  # absolute, on the host
    files: tuple[WeightFile, ...] | None = None

    @property
    def bytes(self) -> int | None:
        """Of all files together."""
        return sum(file.size for file in self.files) if self.files else None


@dataclass(frozen=True, slots=True)
class Container:
    """The image and how it is run. `arguments`: the words between `docker run` and the image.

    `started_by`: the name by which ranks start it, once the plan has put it on the host. `engine`: docker or podman.
    """

    image: str | None = None
    digest: str | None = None
    layers: tuple[str, ...] = ()  # of the root file system, when known
    platforms: tuple[str, ...] | None = None  # linux/amd64, linux/arm64
    compressed_bytes: int | None = None
    arguments: tuple[str, ...] | None = None
    stop_timeout_s: int | None = None
    started_by: str | None = None
    engine: str = "docker"


@dataclass(frozen=True, slots=True)
class Layout:
    """How the ranks are cut. None: the plan does not tell."""

    nodes: int | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    expert_parallel: bool | None = None
    moe: bool | None = None
    load_balancing: Literal["internal", "hybrid", "external"] | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """What the recipe says of the model and its variant, as far as checks compare it. None: not told."""

    id: str = ""
    variant: str = ""
    minimum_vllm: str | None = None
    hardware_support: Literal["verified", "supported", "unsupported", "unlisted"] | None = None
    vram_minimum_gb: float | None = None
    moe_intermediate_size: int | None = None
    quantization_block: int | None = None
    tokenizer_mode: str | None = None  # that its chat needs
    parsers: tuple[str, ...] = ()  # options that its family needs, `--tool-call-parser deepseek_v4`
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Demands:
    """What a recipe says that its hosts must have, beyond what follows from its command. None and empty: not told.

    `driver` and `vllm`: a range, ">=580,<600". `nic`: how the names of RDMA adapters begin ("mlx5"). `mounts`: paths.
    """

    gpus: int | None = None
    gpus_per_host: int | None = None
    nic: str | None = None
    driver: str | None = None
    vllm: str | None = None
    disk_gb: float | None = None
    mounts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """The build that will run. `architectures`: compute capabilities or gfx names that it has kernels for."""

    python: str | None = None  # ">=3.11,<3.15"
    platforms: tuple[str, ...] | None = None  # x86_64, aarch64
    architectures: tuple[str, ...] | None = None
    packages: tuple[tuple[str, str], ...] = ()  # pinned name and version
    glibc: str | None = None  # the oldest that the wheel's tag allows


@dataclass(frozen=True, slots=True)
class MemoryForecast:
    """What the memory model says of one GPU.

    `loads_bytes`: the least that a GPU must have for weights and activations within vLLM's share of it. `short`: why
    not one request fits then, empty when one does. `certain`: no figure behind it is derived or assumed. `source`: of
    the weights.
    """

    loads_bytes: int | None
    short: str
    certain: bool
    source: str


@dataclass(frozen=True, slots=True)
class HostRequirements:
    """What the plan asks of one host. A part that the plan does not tell is None or empty, and its checks skip.

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
    argv: tuple[str, ...] = ()  # the whole command; argv[0] is the program
    env: tuple[tuple[str, str], ...] = ()  # the whole environment of the ranks
    weights: ExpectedWeights | None = None
    numa_bind: bool = False  # vLLM itself binds its workers
    numa_bind_required: bool = False  # the plan would rather not start than not bind
    gpu_memory_utilization: float | None = None
    earlier: HostFacts | None = None  # on the last record of this host; counters are compared with it
    restart: str | None = None  # the unit's Restart=
    starts_after_s: float | None = None  # after the first host that starts
    memory_forecast: MemoryForecast | None = None  # None: the architecture of the model is not known
    fetches_from: tuple[str, ...] = ()  # URLs that this host downloads from; none: it downloads nothing
    proxy: str | None = None  # that these downloads go through


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
    name: str = ""  # of the deployment
    hardware: str | None = None  # profile: gb200, h200, mi355x
    model: Model = Model()
    layout: Layout = Layout()
    build: Build = Build()
    container: Container | None = None  # None: the ranks run in a Python environment
    demands: Demands | None = None  # None: the recipe has no such block
    rdma: bool | None = None  # the ranks talk over RDMA
    rail: bool | None = None  # each NIC reaches only the NICs of its own rail
    mnnvl: bool | None = None  # tensor or expert parallelism over NVLink between trays
    shutdown_timeout_s: int | None = None
    stop_timeout_s: int | None = None  # after which the unit's processes are killed
    control_env: tuple[tuple[str, str], ...] = ()  # proxy variables of the control machine
    at: float | None = None  # when the facts are judged: seconds since 1970 on the control machine

    def of(self, host: str) -> HostRequirements:
        return next(one for one in self.hosts if one.host == host)
