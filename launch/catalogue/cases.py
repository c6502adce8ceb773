"""Every command that a recipe can become: the choices that its catalogue offers, each resolved once. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from launch.resolve import Pool, resolve
from launch.resolve.case import PD
from launch.resolve.choice import default_features, default_hardware
from launch.resolve.gates import Place, effective_strategies, least_nodes, offered, supported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.catalogue.find import Found
    from launch.resolve import Resolved

SEVERAL = (2, 4)
MODES = ("tp", "tep", "dep")
_PLACEHOLDERS = ((re.compile(r"\$[A-Z0-9_]*PORT\b"), "13345"), (re.compile(r"\$HEAD_IP\b"), "10.0.0.1"))


@dataclass(frozen=True, slots=True)
class Offer:
    """One choice of a recipe. `features` and `modes` beside the defaults, so that a fault can be told from them."""

    variant: str
    hardware: str
    strategy: str
    nodes: int = 1
    features: tuple[str, ...] = ()
    modes: Mapping[str, str] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    kv: str | None = None

    def resolve(self, found: Found) -> Resolved:
        return resolve(
            found,
            strategy=self.strategy,
            hardware=self.hardware,
            variant=self.variant,
            features=self.features,
            node_count=self.nodes,
            modes=self.modes,
            pools=self.pools,
            kv=self.kv,
        )


def filled(argv: Sequence[str]) -> tuple[str, ...]:
    """The words with something of the right kind for what only a placement knows."""
    words = tuple(argv)
    for pattern, value in _PLACEHOLDERS:
        words = tuple(pattern.sub(value, word) if "$" in word else word for word in words)
    return words


def hardware_of(found: Found) -> list[str]:
    """What the recipe names, and the taxonomy's profiles that are offered to every recipe."""
    return list(dict.fromkeys([*found.recipe.meta.hardware, *found.library.taxonomy.hardware_profiles]))


def offers(found: Found) -> Iterator[Offer]:
    """Each variant on each hardware that runs it, in each strategy; features one by one beside the default ones."""
    for variant in found.recipe.variants or ("default",):
        for hardware in hardware_of(found):
            place = Place(found.recipe, found.library, variant, hardware)
            if offered(place):
                yield from _of_place(place)


def _of_place(place: Place) -> Iterator[Offer]:
    recipe = place.recipe
    usual = tuple(default_features(recipe, place.variant_key, place.hardware))
    for strategy in effective_strategies(recipe):
        deploy_type = place.library.strategy(strategy).deploy_type
        too_small = deploy_type == "single_node" and least_nodes(place, strategy) > 1
        if too_small or not supported(place, strategy):
            continue
        plain = Offer(place.variant_key, place.hardware, strategy, least_of(place, strategy), usual)
        yield plain
        if deploy_type == "multi_node":
            more = [one for one in SEVERAL if one > plain.nodes]
            yield from (Offer(place.variant_key, place.hardware, strategy, one, usual) for one in more)
        for features, modes in _with_each_feature(place, usual):
            yield Offer(place.variant_key, place.hardware, strategy, plain.nodes, features, modes)
        if deploy_type == PD:
            yield from _with_other_pools(plain)
        yield from _with_offload(place, plain)


def least_of(place: Place, strategy: str) -> int:
    """Nodes that a layout needs at least: by the recipe's floor, and where it may be several by the weights."""
    deploy_type = place.library.strategy(strategy).deploy_type
    if deploy_type != "multi_node":
        return 1
    needed, there = place.variant.vram_minimum_gb, place.profile.vram_gb
    fitting = ceil(needed / there) if needed and there else 1
    nodes = max(2, least_nodes(place, strategy), fitting)
    # A tensor group of 3 x 8 GPUs divides few models' heads.
    return 1 << (nodes - 1).bit_length()


def _with_each_feature(place: Place, usual: Sequence[str]) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    for name, feature in place.recipe.features.items():
        if name not in usual:
            yield (*usual, name), {}
        for mode in list(feature.modes or {}):
            yield tuple(dict.fromkeys((*usual, name))), {name: mode}


def _with_other_pools(plain: Offer) -> Iterator[Offer]:
    for role in ("prefill", "decode"):
        for mode in MODES:
            pools = {role: Pool(parallelism=mode)}
            yield Offer(plain.variant, plain.hardware, plain.strategy, 1, plain.features, pools=pools)


def _with_offload(place: Place, plain: Offer) -> Iterator[Offer]:
    """Offload and stores on one hardware: their arguments are the catalogue's, the same for all recipes."""
    if place.hardware == default_hardware(place):
        for kv in (*place.library.taxonomy.kv_offload, *place.library.kv_stores):
            yield Offer(plain.variant, plain.hardware, plain.strategy, plain.nodes, plain.features, kv=kv)
