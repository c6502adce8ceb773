"""The plan document: one launch on these hosts, each decision with its reason. `docs/reference/plan.md` describes it.

Plain data that JSON holds: no time of day, no random name. The same facts and inputs make the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.choosing.reasons import Reason
from launch.placing.placement import NO_PINS, Pins

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT_VERSION = 1
"""Raised when a key changes its meaning or goes away; new keys do not raise it."""

KIND = "launch-plan"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the plan was made of. `digest` is over all of it; `facts` digests what was read of each host.

    `asked`: the flags that were given, as typed. `recipe` digests the recipe's file and the strategies, profiles and
    stores that go with it. `assumed`: there are no hosts, only the profile of a kind of hardware.
    """

    digest: str
    asked: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    recipe: str
    assumed: bool = False
    simulated: bool = False  # a host says that its hardware is made up


@dataclass(frozen=True, slots=True)
class Model:
    """`commit` pins the weights, None: the recipe pins none."""

    recipe: str
    variant: str
    repository: str
    commit: str | None
    precision: str | None
    served_name: str
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """`environment`: digest of the locked Python environment, None where there is none. `image`: if the recipe has one.

    `by_hand`: paths of programs are those of the image or to be replaced, because bringup installs nothing here.
    """

    vllm: str
    distribution: str
    environment: str | None
    image: str | None
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of the gang. `expert_parallel` is 1 where the experts are not spread, else TP x DP.

    `hosts_per_rank`: more than 1 where a single rank spans all hosts.
    """

    strategy: str
    hardware: str
    load_balancing: str
    nodes: int
    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    expert_parallel: int
    hosts_per_rank: int
    http_port: int
    rpc_port: int


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """One block of a GPU's bar: weights, activations, graphs, kv, state; outside: what vLLM does not let itself use."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What each used GPU holds, and what of it is left for the cache.

    `needed_bytes` and `there_bytes` are of the rule that decides whether it fits, over `of`: "a GPU" or "the gang".
    `fits` None: a figure is missing. `parts` are of one GPU and add up to its `gpu_bytes`; none where only the
    recipe's minimum is known. `kv_tokens`: as the engine logs them, for one data-parallel rank; `kv_tokens_gang`: of
    all ranks together. `is_bound`: at most so many, because of what is `unknown`. `concurrency`: requests of
    `context` tokens that one rank holds.
    """

    fits: bool | None
    of: str
    needed_bytes: int | None
    there_bytes: int | None
    gpu_bytes: int | None
    parts: tuple[MemoryPart, ...]
    kv_tokens: int | None
    kv_tokens_gang: int | None
    concurrency: float | None
    source: str
    is_bound: bool = False
    context: int | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gpu:
    """`rank`: the data-parallel rank that uses it, None: unused, and `unused` says why. `worker`: its place in it."""

    index: int
    name: str
    memory_bytes: int | None
    pci_address: str
    numa_node: int | None
    rank: int | None
    worker: int | None
    unused: str = ""


@dataclass(frozen=True, slots=True)
class NumaNode:
    """`cpus` as the kernel numbers them: none on a memory-only node. `gpus` and `nics` hang on it."""

    id: int
    cpus: tuple[int, ...]
    memory_bytes: int
    gpus: tuple[int, ...]
    nics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Nic:
    """An RDMA device. `gigabits` None: not told. `near`: indices of the GPUs that it is nearest to."""

    name: str
    numa_node: int | None
    netdevs: tuple[str, ...]
    active: bool
    link_layer: str
    gigabits: float | None
    near: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """How far two GPUs of a host are from each other, in the vendor's word: NV18, XGMI, PIX, NODE, SYS, ..."""

    gpu: int
    to: int
    kind: str


@dataclass(frozen=True, slots=True)
class Rank:
    """A data-parallel rank's part on this host. `numa_node` None: its GPUs hang on several, or it is not known."""

    index: int
    gpus: tuple[int, ...]
    numa_node: int | None


@dataclass(frozen=True, slots=True)
class Processes:
    """What vLLM starts here. `cores`: physical ones that may be used, None: unknown; `least_cores`: 2 + N."""

    api_servers: int
    launchers: int
    engine_cores: int
    workers: int
    coordinators: int
    cores: int | None
    least_cores: int


@dataclass(frozen=True, slots=True)
class Host:
    """One host of the gang; the first is the head. `role`: single, head, peer (it serves too), follower.

    `urls`: its public endpoints, none on a follower; `url`: the first. `env` is the whole environment and `argv` the
    exact command. `clique`: NVLink domain, cluster and clique. `pins`: the CPUs and NUMA nodes of its processes.
    """

    name: str
    node_rank: int
    role: str
    address: str
    interface: str
    url: str
    ranks: tuple[Rank, ...]
    gpus: tuple[Gpu, ...]
    numa: tuple[NumaNode, ...]
    nics: tuple[Nic, ...]
    links: tuple[Link, ...]
    clique: str | None
    processes: Processes
    env: tuple[tuple[str, str], ...]
    argv: tuple[str, ...]
    pins: Pins = NO_PINS
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another choice, and what it would cost. `flags`: what to add to the same command to have it.

    `outcome`: fits, short (of memory, by `short_bytes`), refused (by `why`), unknown (a figure is missing or derived).
    `kv_tokens`: of all ranks together, as in `Memory`.
    """

    flags: str
    variant: str
    strategy: str
    nodes: int
    gpus: int
    outcome: str
    why: str
    needed_bytes: int | None = None
    there_bytes: int | None = None
    kv_tokens: int | None = None

    @property
    def short_bytes(self) -> int | None:
        """How much is missing, also where the figures are too uncertain to refuse it."""
        if self.needed_bytes is None or self.there_bytes is None:
            return None
        return max(0, self.needed_bytes - self.there_bytes)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why `deploy` would not carry the plan out as it stands, in the words of the error that it would raise."""

    id: str
    message: str
    observed: str
    required: str
    next_command: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class Contested:
    """A figure or setting on which sources disagree: which one counts here, and what the others say."""

    what: str
    value: str
    source: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """See the module. `name` is the deployment's; `left_out`: hosts that were asked for and are not used, and why."""

    format_version: int
    name: str
    inputs: Inputs
    model: Model
    engine: Engine
    layout: Layout
    hosts: tuple[Host, ...]
    left_out: tuple[tuple[str, str], ...]
    memory: Memory
    reasons: tuple[Reason, ...]
    alternatives: tuple[Alternative, ...]
    obstacles: tuple[Obstacle, ...]
    contested: tuple[Contested, ...]

    @property
    def head(self) -> Host:
        return self.hosts[0]

    def ranks(self) -> Iterator[tuple[Host, Rank]]:
        for host in self.hosts:
            for rank in host.ranks:
                yield host, rank
