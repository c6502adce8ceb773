"""One choice to resolve: a recipe and what was picked for it, with the things that the picks name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launch.catalogue.recipe import Role, StrategyOverride

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.catalogue.find import Library
    from launch.catalogue.recipe import Block, Recipe, Variant
    from launch.catalogue.taxonomy import KvOption, KvStore, Profile, Strategy

from launch.resolve.lookup import by_generation

PD = "pd_cluster"
KV_STORE = "kv_store_lb"
ROLES = ("prefill", "decode")


@dataclass(frozen=True, slots=True)
class Pool:
    """How the operator wants a prefill or decode pool; None: as the recipe says. `nodes` 0: half of one node."""

    nodes: int | None = None
    parallelism: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """`node_count` is per instance where a KV store is wrapped around several instances."""

    recipe: Recipe
    library: Library
    variant_key: str
    strategy_name: str
    hardware: str
    node_count: int = 1
    features: tuple[str, ...] = ()
    modes: Mapping[str, str] = field(default_factory=dict)
    advanced: tuple[str, ...] = ()
    kv: str | None = None
    instances: int | None = None
    pools: Mapping[str, Pool] = field(default_factory=dict)

    @property
    def variant(self) -> Variant:
        return self.recipe.variant(self.variant_key)

    @property
    def model_id(self) -> str:
        return self.recipe.model_id(self.variant_key)

    @property
    def strategy(self) -> Strategy:
        return self.library.strategy(self.strategy_name)

    @property
    def profile(self) -> Profile:
        return self.library.profile(self.hardware)

    @property
    def gpus(self) -> int:
        """GPUs of a node; ranks of a host where there are none to count (`bringup.ranks_per_host`)."""
        return self.recipe.bringup.ranks_per_host.get(self.hardware) or self.profile.gpus

    @property
    def override(self) -> StrategyOverride:
        return self.recipe.strategy_overrides.get(self.strategy_name) or StrategyOverride()

    def role(self, name: str) -> Role:
        found: Role | None = getattr(self.override, name)
        return found or Role()

    def override_args(self) -> list[tuple[str, ...]]:
        """The argument lists of the strategy's override, those of both roles with it."""
        override = self.override
        found = [override.extra_args, override.vllm_args]
        for role in ROLES:
            found += [self.role(role).extra_args, self.role(role).vllm_args]
        return found

    @property
    def is_pd(self) -> bool:
        return self.strategy.deploy_type == PD

    @property
    def spans_nodes(self) -> bool:
        return self.strategy.deploy_type == "multi_node" and self.node_count > 1

    @property
    def kv_store(self) -> KvStore | None:
        return self.library.kv_stores.get(self.kv or "")

    @property
    def instance_store(self) -> KvStore | None:
        """The KV store when it makes several instances of a strategy, which prefill/decode pools are not."""
        return None if self.is_pd else self.kv_store

    @property
    def kv_option(self) -> KvOption | None:
        """The KV-offload connector, if it is one and may compose here; otherwise it is silently left out."""
        option = self.library.taxonomy.kv_offload.get(self.kv or "")
        return option if option and self._kv_allowed(self.kv or "", option) else None

    def _kv_allowed(self, key: str, option: KvOption) -> bool:
        support = self.recipe.kv_offload_support.get(key)
        return (
            self.strategy.deploy_type not in {PD, KV_STORE}
            and (not option.strategies or self.strategy_name in option.strategies)
            and support != "unsupported"
            and (support == "verified" or not option.requires_opt_in)
            and (not option.brands or self.profile.brand in option.brands)
        )

    def blocks(self, role: str | None) -> list[Block]:
        """The hardware layers that apply, in their order.

        A strategy's block for the generation takes the place of the recipe's and the variant's, even when it is empty.
        """
        profile, hardware, override = self.profile, self.hardware, self.override
        own = by_generation(override.hardware_overrides, profile)
        general = [
            by_generation(self.recipe.hardware_overrides, profile),
            by_generation(self.variant.hardware_overrides, profile),
        ]
        exact = [override.hardware_overrides.get(hardware)]
        exact += [self.role(role).hardware_overrides.get(hardware)] if role else []
        return [one for one in ([own] if own is not None else general) + exact if one is not None]
