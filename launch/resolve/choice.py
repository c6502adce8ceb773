"""What to choose where the operator chose nothing: hardware, features, strategy, number of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from launch.resolve import pools
from launch.resolve.case import KV_STORE, PD, ROLES, Case, Pool
from launch.resolve.gates import (
    Place,
    constraint_of,
    effective_strategies,
    fits_node,
    fits_twice,
    kv_store_offered,
    least_nodes,
    offered,
    reachable,
    runs_alone,
    supported,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from launch.catalogue.recipe import Recipe

MULTI, SINGLE = "multi_node", "single_node"
LANDING = "h200"
BLACKWELL_FIRST = ("b200", "gb200")
MOST_POOL_NODES = 4
BRANDS = {"NVIDIA": 0, "AMD": 1}


@dataclass(frozen=True, slots=True)
class Choice:
    """One layout with its size. `node_count` is per instance with a KV store, and 1 for pools, which have their own."""

    strategy: str
    variant: str
    node_count: int
    deploy_type: str
    serving_strategy: str | None = None
    instances: int | None = None
    min_vllm_version: str | None = None
    pool_nodes: tuple[int, int] | None = None  # prefill, decode; 0: they share a node
    pool_modes: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Recommendation:
    recommended: Choice
    features: tuple[str, ...]
    alternatives: tuple[Choice, ...]


def hardware_offered(place: Place) -> list[str]:
    """The hardware ids that the variant may run on, in the taxonomy's order."""
    return [one for one in place.library.taxonomy.hardware_profiles if offered(replace(place, hardware=one))]


def default_hardware(place: Place) -> str:
    candidates = hardware_offered(place)
    wanted = place.recipe.meta.default_hardware
    preferred = BLACKWELL_FIRST if constraint_of(place.variant)[1] == "blackwell" else (LANDING,)
    profiles = place.library.profiles
    ranked = sorted(candidates, key=lambda one: (BRANDS.get(profiles[one].brand, 2), one))
    ordered = [*([wanted] if wanted else []), *preferred]
    return next((one for one in ordered if one in candidates), next(iter(ranked), LANDING))


def default_features(recipe: Recipe, variant_key: str, hardware: str) -> list[str]:
    """All that are declared, without those to be asked for; what the variant picks a mode of is always on."""
    off = {*recipe.opt_in_features, *recipe.hardware_opt_in_features.get(hardware, ())}
    picked = recipe.variant(variant_key).default_modes
    return [name for name in recipe.features if name not in off or name in picked]


def strategy_for(place: Place, nodes: int, among: Sequence[str]) -> str:
    """The strategy for a number of nodes out of `among`; the recipe's default takes its form for several nodes."""
    default = place.recipe.default_strategy
    order: list[str] = []
    if default is not None and default in among:
        order = [default.replace(SINGLE, MULTI, 1) if nodes > 1 else default]
    order += [f"{MULTI}_tp", f"{MULTI}_dep", f"{MULTI}_tep"] if nodes > 1 else []
    wanted = next((one for one in [*order, f"{SINGLE}_tp"] if one in among), None)
    return wanted or next(iter(among), f"{SINGLE}_tp")


def recommend(place: Place) -> Recommendation | None:
    """A layout, and the others that are possible. None: this hardware runs no variant of the recipe."""
    fitting = _variant_for(place)
    if fitting is None:
        return None
    place = fitting
    deploy = {name: place.library.strategy(name).deploy_type for name in effective_strategies(place.recipe)}
    compatible = [name for name in deploy if _compatible(place, name)]
    base = 2 if not fits_node(place) and any(deploy[one] == MULTI for one in compatible) else 1
    best = strategy_for(place, base, list(deploy))
    if best not in compatible:
        best = next((one for one in compatible if deploy[one] != PD), next(iter(compatible), best))
    stores = [one for one in place.library.kv_stores if kv_store_offered(place, one)]
    others = [_choice(place, one, 1) for one in compatible if one != best]
    others += [_store_choice(place, one) for one in stores]
    found = _choice(place, best, base)
    if found is None:
        return None
    features = tuple(default_features(place.recipe, place.variant_key, place.hardware))
    return Recommendation(found, features, tuple(one for one in others if one is not None))


def _variant_for(place: Place) -> Place | None:
    """The place itself, or with the largest variant that fits hardware which cannot be joined to others."""
    if place.profile.scalable or runs_alone(place):
        return place
    others = [replace(place, variant_key=key) for key in place.recipe.variants]
    running = [one for one in others if runs_alone(one)]
    return max(running, key=lambda one: one.variant.vram_minimum_gb or 0, default=None)


def _compatible(place: Place, strategy: str) -> bool:
    deploy_type = place.library.strategy(strategy).deploy_type
    joined = deploy_type in {MULTI, PD}
    return supported(place, strategy) and reachable(place, strategy) and (place.profile.scalable or not joined)


def _choice(place: Place, strategy: str, base: int) -> Choice | None:
    deploy_type = place.library.strategy(strategy).deploy_type
    if deploy_type == PD:
        return _pools_choice(place, strategy)
    least = least_nodes(place, strategy)
    nodes = max(base, 2, least) if deploy_type == MULTI else least
    return Choice(strategy, place.variant_key, nodes, deploy_type)


def _pools_choice(place: Place, strategy: str) -> Choice | None:
    """Both pools on one node where it holds the weights twice, else as many nodes each as the weights need."""
    case = Case(place.recipe, place.library, place.variant_key, strategy, place.hardware)
    nodes = (0, 0)
    if not fits_twice(place):
        each = ceil((place.variant.vram_minimum_gb or 0) / (place.profile.vram_gb or 1)) or 1
        if each > MOST_POOL_NODES:
            return None
        first, second = (max(each, least_nodes(place, pools.mode_of(case, role))) for role in ROLES)
        nodes = (first, second)
    sized = replace(case, pools={role: Pool(count) for role, count in zip(ROLES, nodes, strict=True)})
    first_mode, second_mode = (pools.mode_of(sized, role) for role in ROLES)
    return Choice(strategy, place.variant_key, 1, PD, pool_nodes=nodes, pool_modes=(first_mode, second_mode))


def _store_choice(place: Place, store: str) -> Choice | None:
    """A KV store around the strategy for one node, or for two where the weights do not fit one.

    Only strategies that this hardware supports: the public builder does not ask.
    """
    among = [one for one in effective_strategies(place.recipe) if supported(place, one)]
    spec = place.library.kv_stores[store]
    for nodes in (1, 1) if fits_node(place) else (2, 1):
        wanted = SINGLE if nodes == 1 else MULTI
        fitting = [one for one in among if place.library.strategy(one).deploy_type == wanted]
        if not fitting:
            continue
        first = strategy_for(place, nodes, among)
        serving = first if first in fitting else fitting[0]
        count = max(nodes, least_nodes(place, serving)) if wanted == MULTI else nodes
        return Choice(
            store,
            place.variant_key,
            count,
            KV_STORE,
            serving_strategy=serving,
            instances=spec.default_instances or 2,
            min_vllm_version=spec.min_vllm_version,
        )
    return None
