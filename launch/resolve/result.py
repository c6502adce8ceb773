"""What a choice resolves to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.resolve.features import Helper


@dataclass(frozen=True, slots=True)
class NodeCommand:
    """One engine process. `role`: single, head, worker, prefill, decode or instance; `rank` counts in its gang.

    Placeholders such as `$HEAD_IP` and `$IFACE_NAME` stand in `env` and `argv` as they are: whoever runs the
    command substitutes them.
    """

    role: str
    rank: int
    env: Mapping[str, str]
    argv: tuple[str, ...]
    instance: int | None = None
    pool_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class PoolLayout:
    """A prefill or decode pool. `nodes` 0: half of one node's GPUs; `dp_local` 0: no data parallelism."""

    nodes: int
    parallelism: str
    tp: int
    dp_local: int
    dp_size: int
    pool_gpus: int


@dataclass(frozen=True, slots=True)
class Router:
    argv: tuple[str, ...]
    install: str
    policy: str
    port: int | None


@dataclass(frozen=True, slots=True)
class Store:
    """The Mooncake processes around the engines; `store` is None where the engines hold the pool themselves."""

    master: str | None
    store: Mapping[str, Any] | None
    config: Mapping[str, Any] | None
    install: str | None


@dataclass(frozen=True, slots=True)
class Defect:
    """Where the public catalogue's own builder does something that looks wrong, and what is done here instead."""

    mark: str
    what: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """Commands for every node of one choice."""

    deploy_type: str
    model_id: str
    processes: tuple[NodeCommand, ...]
    helpers: tuple[Helper, ...] = ()
    pools: Mapping[str, PoolLayout] | None = None
    router: Router | None = None
    store: Store | None = None
    instances: int | None = None
    nodes_per_instance: int | None = None
    serving_strategy: str | None = None
    task: Mapping[str, Any] | None = None
    defects: tuple[Defect, ...] = ()

    @property
    def head(self) -> NodeCommand:
        return self.processes[0]
