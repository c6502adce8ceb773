"""Who runs what where: data-parallel ranks on hosts, their GPUs, addresses and ports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LoadBalancing(StrEnum):
    """How clients reach the ranks (vLLM's words)."""

    NONE = "none"  # one engine
    INTERNAL = "internal"  # API servers on the head; followers are headless
    HYBRID = "hybrid"  # API servers on every host, each for its local ranks


@dataclass(frozen=True, slots=True)
class Rank:
    """One data-parallel rank: `index` counts over the gang, `local_index` over the host."""

    index: int
    local_index: int
    gpus: tuple[int, ...]  # TP x PP of them; empty on CPU
    numa_node: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """One host's share. The first node is the head; `serves` says whether it has a public endpoint."""

    host: str
    node_rank: int
    address: str
    interface: str
    ranks: tuple[Rank, ...]
    serves: bool

    @property
    def start_rank(self) -> int:
        return self.ranks[0].index


@dataclass(frozen=True, slots=True)
class Placement:
    """The whole gang. `reasons`: one line for each choice, for the operator."""

    load_balancing: LoadBalancing
    tensor_parallel_size: int
    data_parallel_size: int
    nodes: tuple[Node, ...]
    http_port: int
    rpc_port: int
    reasons: tuple[str, ...]

    @property
    def head(self) -> Node:
        return self.nodes[0]
