"""Hardware profiles, strategies and KV stores of a catalogue: what recipes refer to by name."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from launch.catalogue.recipe import Args, Companion, Env, Free, Strict


class Profile(Strict):
    """One kind of node. `gpu_count` and `vram_gb` are per node; a list of generations counts by its first."""

    brand: str = ""
    generation: str | tuple[str, ...] = ""
    gpu_count: int | None = None
    vram_gb: int | float | None = None
    scalable: bool = True
    restricted: bool = False
    display_name: Free = None
    description: Free = None
    multi_node: Free = None

    @property
    def kind(self) -> str:
        """The generation that rules are keyed by."""
        first = self.generation if isinstance(self.generation, str) else next(iter(self.generation), "")
        return first.lower()

    @property
    def gpus(self) -> int:
        return self.gpu_count or 1


class KvOption(Strict):
    """A KV-offload connector that composes with a serving strategy."""

    args: Args = ()
    env: Env = Field(default_factory=dict)
    strategies: tuple[str, ...] = ()
    brands: tuple[str, ...] = ()
    requires_opt_in: bool = False
    install: str | None = None
    companion: Companion | None = None
    description: Free = None
    display_name: Free = None
    label: Free = None
    order: Free = None
    group: Free = None
    docs_url: Free = None
    tooltip: Free = None


class Taxonomy(Strict):
    hardware_profiles: dict[str, Profile] = Field(default_factory=dict)
    tasks: Free = None
    strategies: tuple[str, ...] = ()
    kv_offload: dict[str, KvOption] = Field(default_factory=dict)
    kv_offload_groups: Free = None


class StrategyRole(Strict):
    """The prefill or decode pool of a `pd_cluster` strategy."""

    parallelism: str | None = None
    parallel_flag: str | None = None
    tp: int | None = None
    nodes: Free = None
    vllm_args: Args = ()
    env: Env = Field(default_factory=dict)


class Router(Strict):
    policy: str | None = None
    install: str | None = None
    port: int | None = None
    intra_node_data_parallel_size: Free = None


class StrategyExtra(Strict):
    """Ours. `internal`: API servers on the head only, followers headless; the public schema cannot say it.

    `external`: a server for every rank.
    """

    load_balancing: Literal["internal", "hybrid", "external"] | None = None


class Strategy(Strict):
    """A serving layout. `parallelism`: `tp_pp` or `tp_dp` for those layouts over several nodes."""

    name: str = ""
    deploy_type: str = ""
    parallel_flag: str | None = None
    parallelism: str | None = None
    vllm_args: Args = ()
    env: Env = Field(default_factory=dict)
    prefill: StrategyRole | None = None
    decode: StrategyRole | None = None
    router: Router | None = None
    display_name: Free = None
    orientation: Free = None
    description: Free = None
    hardware_match: Free = None
    bringup: StrategyExtra = Field(default_factory=StrategyExtra)


class KvServer(Strict):
    vllm_args: Args = ()
    env: Env = Field(default_factory=dict)
    install: Free = None
    port: int | None = None


class KvRole(Strict):
    args: Args = ()


class KvStore(Strict):
    """A Mooncake store around several instances of a serving strategy."""

    name: str = ""
    deploy_type: str = ""
    router: Router | None = None
    vllm: KvServer = Field(default_factory=KvServer)
    pd: dict[str, KvRole] | None = None
    mooncake_master: Free = None
    mooncake_store_config: Free = None
    mooncake_vllm_config: Free = None
    min_vllm_version: str | None = None
    default_instances: int | None = None
    display_name: Free = None
    label: Free = None
    order: Free = None
    description: Free = None
    orientation: Free = None
    hardware_match: Free = None
