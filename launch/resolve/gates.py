"""What is offered where. `resolve` renders any combination; these say which ones a recipe means."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from launch.resolve.lookup import keyed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.catalogue.find import Library
    from launch.catalogue.recipe import Recipe, Variant
    from launch.catalogue.taxonomy import Profile

BLACKWELL_ONLY = ("nvfp4", "fp4")
SEVERAL_NODES = ("multi_node", "pd_cluster")
MOST_NODES = 16


@dataclass(frozen=True, slots=True)
class Place:
    """A recipe's variant on a hardware: what most gates ask about."""

    recipe: Recipe
    library: Library
    variant_key: str
    hardware: str

    @property
    def variant(self) -> Variant:
        return self.recipe.variant(self.variant_key)

    @property
    def profile(self) -> Profile:
        return self.library.profile(self.hardware)


def effective_strategies(recipe: Recipe) -> list[str]:
    """The listed strategies, and those that some hardware is said to support."""
    extra = [name for name, hardware in recipe.strategy_hardware.items() if "supported" in hardware.values()]
    return list(dict.fromkeys([*recipe.compatible_strategies, *extra]))


def precision_ok(place: Place) -> bool:
    """FP4 formats of NVIDIA need Blackwell; a variant may say otherwise, for any precision."""
    brand, generation = constraint_of(place.variant)
    own = place.profile
    return (brand is None or own.brand == brand) and (generation is None or own.kind == generation)


def constraint_of(variant: Variant) -> tuple[str | None, str | None]:
    """Brand and generation that the variant's precision asks for."""
    if variant.precision_hardware is not None:
        return variant.precision_hardware.brand, variant.precision_hardware.generation
    return ("NVIDIA", "blackwell") if variant.precision in BLACKWELL_ONLY else (None, None)


def hardware_ok(place: Place) -> bool:
    """Hardware that a recipe does not name is assumed to be fine."""
    return place.recipe.meta.hardware.get(place.hardware) != "unsupported"


def listed_ok(place: Place) -> bool:
    """A variant may list the hardware that it is for."""
    listed = place.variant.supported_hardware
    return not listed or place.hardware in listed


def restricted_ok(place: Place) -> bool:
    """Restricted profiles are offered only by recipes that name them."""
    return not place.profile.restricted or place.hardware in place.recipe.meta.hardware


def offered(place: Place) -> bool:
    """Whether the variant may run on this hardware at all."""
    return precision_ok(place) and hardware_ok(place) and listed_ok(place) and restricted_ok(place)


def supported(place: Place, strategy: str) -> bool:
    """Whether a strategy is supported here; a verdict for the hardware beats the recipe's list of strategies."""
    verdicts = place.recipe.strategy_hardware.get(strategy, {})
    verdict = keyed(verdicts, place.hardware, place.profile)
    return verdict != "unsupported" if verdict is not None else strategy in place.recipe.compatible_strategies


def floor(place: Place, key: str) -> int:
    """GPUs below which a strategy (or a pool's mode) is not to be used; 0: none."""
    floors = place.recipe.strategy_min_gpus
    if not isinstance(floors, dict):
        return floors or 0
    exact = floors.get(place.hardware)
    own = exact if isinstance(exact, int) else _entry(exact, key) if exact else 0
    return max(_entry(floors, key), own)


def _entry(floors: Mapping[str, int | dict[str, int]], key: str) -> int:
    values = (floors.get(name) for name in (key, f"multi_node_{key}", f"single_node_{key}"))
    return next((value for value in values if isinstance(value, int)), 0)


def least_nodes(place: Place, key: str) -> int:
    return max(1, ceil(floor(place, key) / place.profile.gpus))


def reachable(place: Place, strategy: str) -> bool:
    deploy_type = place.library.strategy(strategy).deploy_type
    nodes = MOST_NODES if deploy_type in SEVERAL_NODES else 1
    return floor(place, strategy) <= place.profile.gpus * nodes


def fits_node(place: Place) -> bool:
    """Whether the weights load on one node; where a figure is missing, they count as fitting."""
    needed, there = place.variant.vram_minimum_gb or 0, place.profile.vram_gb or 0
    return needed <= 0 or there <= 0 or needed <= there


def fits_twice(place: Place) -> bool:
    """Whether a node holds the weights of a prefill and of a decode pool."""
    needed, there = place.variant.vram_minimum_gb, place.profile.vram_gb
    return place.profile.gpus >= 2 and (not needed or not there or there >= 2 * needed)


def kv_store_offered(place: Place, store: str) -> bool:
    """Whether a Mooncake store may be wrapped around a strategy here."""
    verdict = place.recipe.kv_cache_strategy_hardware.get(store, {}).get(place.hardware)
    return place.profile.scalable and place.profile.brand in {"NVIDIA", "AMD"} and verdict != "unsupported"


def runs_alone(place: Place) -> bool:
    """Whether hardware that cannot be joined to others runs the variant."""
    return precision_ok(place) and listed_ok(place) and fits_node(place)
