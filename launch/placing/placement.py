"""Who runs what where: data-parallel ranks on hosts, their GPUs, addresses and ports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launch.choosing.reasons import Reason


class LoadBalancing(StrEnum):
    """How clients reach the ranks (vLLM's words)."""

    NONE = "none"  # one engine
    INTERNAL = "internal"  # API servers on the head; followers are headless
    HYBRID = "hybrid"  # API servers on every host, each for its local ranks
    EXTERNAL = "external"  # a server for every rank, on a port of its own


class Binding(StrEnum):
    """What holds the processes of a host to their places."""

    NUMA_BIND = "numa-bind"  # vLLM: workers to their CPUs, engine cores to their nodes, API servers to nothing
    UNIT = "unit"  # systemd: all processes of the host to the same CPUs and memory
    THREADS = "threads"  # the CPU build of vLLM: the threads of each worker to their CPUs
    NONE = "none"  # nothing: the kernel places them


@dataclass(frozen=True, slots=True)
class Pins:
    """Where the processes of one host belong, in CPUs: whole cores, no CPU twice.

    The shares are empty where nothing would hold the workers to them, or where the cores are unknown or too few to give
    each process one. `worker_nodes`: the NUMA node of each worker, one that has CPUs; empty: not known of all.
    `affinity` and `memory_nodes`: what the unit is held to, empty: nothing.
    """

    binding: Binding = Binding.NONE
    worker_nodes: tuple[int, ...] = ()
    workers: tuple[tuple[int, ...], ...] = ()
    engine_cores: tuple[tuple[int, ...], ...] = ()
    api_servers: tuple[tuple[int, ...], ...] = ()
    others: tuple[int, ...] = ()  # launcher and coordinator
    threads: tuple[tuple[int, ...], ...] = ()  # of each worker that computes on CPUs: one CPU of each of its cores
    affinity: tuple[int, ...] = ()
    memory_nodes: tuple[int, ...] = ()


NO_PINS = Pins()


@dataclass(frozen=True, slots=True)
class Rank:
    """One data-parallel rank, or one host's part of a rank that spans hosts.

    `index` counts over the gang, `local_index` over the host.
    """

    index: int
    local_index: int
    gpus: tuple[int, ...]  # TP x PP of them, divided over the hosts of the rank; empty on CPU
    numa_node: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """One host's share. The first node is the head; `serves` says whether it has a public endpoint.

    `api_servers`: how many of them the cores bear; None: they were not counted, and vLLM's own number holds.
    """

    host: str
    node_rank: int
    address: str
    interface: str
    ranks: tuple[Rank, ...]
    serves: bool
    api_servers: int | None = None
    pins: Pins = NO_PINS

    @property
    def start_rank(self) -> int:
        return self.ranks[0].index


@dataclass(frozen=True, slots=True)
class Placement:
    """The whole gang. `reasons`: one for each choice, for the operator.

    `rpc_port`: where the others join the head, the ranks of a data-parallel gang or the parts of one rank.
    `hosts_per_rank`: more than 1 where a single rank spans all hosts.
    """

    load_balancing: LoadBalancing
    tensor_parallel_size: int
    data_parallel_size: int
    nodes: tuple[Node, ...]
    http_port: int
    rpc_port: int
    reasons: tuple[Reason, ...]
    pipeline_parallel_size: int = 1
    hosts_per_rank: int = 1

    @property
    def head(self) -> Node:
        return self.nodes[0]

    def engine_cores(self, node: Node) -> int:
        """Engine cores of `node`: that of a rank which spans hosts is on the head, the others have workers only."""
        return 0 if self.hosts_per_rank > 1 and node.node_rank else len(node.ranks)

    @property
    def supervisor_port(self) -> int | None:
        """Where vLLM's own supervisor of the servers of one host tells whether all are ready; None: none is there.

        The servers of a host have the ports from `http_port` on, one a rank; the supervisor has the one behind them.
        """
        local = len(self.head.ranks)
        return self.http_port + local if self.load_balancing is LoadBalancing.EXTERNAL and local > 1 else None

    @property
    def gpus_per_part(self) -> int:
        """GPUs (on CPU: workers) that a rank has on one host."""
        return self.tensor_parallel_size * self.pipeline_parallel_size // self.hosts_per_rank
