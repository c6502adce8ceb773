"""The command of every recipe of ours on every hardware that it names: a change of one shows in review.

Write them anew with `BRINGUP_WRITE_GOLDEN=1 pytest tests/golden/test_recipe_commands.py`, and read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launch.catalogue.cases import Offer, filled, least_of
from launch.catalogue.find import Catalogue, Found
from launch.catalogue.show import nodes_for
from launch.choosing.offer import DEFAULT, strategy_of
from launch.resolve.choice import default_features
from launch.resolve.constraints import unmet
from launch.resolve.gates import Place, effective_strategies, fits_node, least_nodes, offered, supported
from launch.resolve.words import shown
from launch.vllm_args import check, parse
from launch.vllm_args.translations import translate

FOLDER = Path(__file__).parent / "recipe_commands"
OURS = Catalogue.of()
NEWEST = "0.33.0"  # what the commands of models that only an image has are read with: no schema of theirs is there


def places(found: Found) -> list[Place]:
    """Each variant on each hardware that the recipe names and that runs it."""
    named = [(key, hardware) for hardware in sorted(found.recipe.meta.hardware) for key in found.recipe.variants]
    all_places = [Place(found.recipe, found.library, key, hardware) for key, hardware in named]
    return [one for one in all_places if offered(one)]


def layouts(place: Place) -> list[tuple[str, int]]:
    """Strategy and nodes: of the default variant every layout that holds its weights, of the others the usual one."""
    if place.variant_key != DEFAULT:
        nodes = nodes_for(place, "")
        return [(strategy_of(place, nodes), nodes)]
    found = []
    for strategy in effective_strategies(place.recipe):
        several = place.library.strategy(strategy).deploy_type == "multi_node"
        alone = fits_node(place) and least_nodes(place, strategy) == 1
        if supported(place, strategy) and (several or alone):
            found.append((strategy, least_of(place, strategy)))
    return found


def offers(found: Found) -> list[Offer]:
    return [
        Offer(
            place.variant_key,
            place.hardware,
            strategy,
            nodes,
            tuple(default_features(found.recipe, place.variant_key, place.hardware)),
        )
        for place in places(found)
        for strategy, nodes in layouts(place)
    ]


CASES = [(id_, offer) for id_ in OURS.ids() for offer in offers(OURS.find(id_))]


def title(offer: Offer) -> str:
    variant = "" if offer.variant == DEFAULT else f"{offer.variant}, "
    return f"{offer.hardware}, {variant}{offer.strategy}, {offer.nodes} node(s)"


def render(id_: str, offer: Offer) -> str:
    """All nodes' commands as text, with what they are for in front."""
    parts = []
    for one in offer.resolve(OURS.find(id_)).processes:
        env = "".join(f"{key}={value}\n" for key, value in sorted(one.env.items()))
        parts.append(f"# {one.role} {one.rank}\n{env}{shown(one.argv)}\n")
    return "\n".join(parts)


@pytest.mark.parametrize("id_", list(OURS.ids()))
def test_commands_are_those_that_were_reviewed(id_: str) -> None:
    text = "\n".join(f"## {title(offer)}\n\n{render(id_, offer)}" for found, offer in CASES if found == id_)
    path = FOLDER / f"{id_.replace('/', '--')}.txt"
    if os.environ.get("BRINGUP_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("id_", list(OURS.ids()))
def test_every_hardware_that_is_named_has_a_command(id_: str) -> None:
    found = OURS.find(id_)
    named = {key for key, value in found.recipe.meta.hardware.items() if value != "unsupported"}
    assert {offer.hardware for case, offer in CASES if case == id_} == named


@pytest.mark.parametrize(("id_", "offer"), CASES, ids=[f"{id_} {title(offer)}" for id_, offer in CASES])
def test_commands_are_taken_by_the_pinned_version_and_meet_the_constraints(id_: str, offer: Offer) -> None:
    found = OURS.find(id_)
    place = Place(found.recipe, found.library, offer.variant, offer.hardware)
    version = found.recipe.bringup.vllm_version or NEWEST
    processes = offer.resolve(found).processes
    assert len(processes) == offer.nodes
    for one in processes:
        argv = filled(one.argv)
        assert check(argv, one.env, version) == ()
        assert list(unmet(place, offer.strategy, parse(argv, version))) == []
        assert translate(argv, one.env, version).notes == (), "ours are written in the words of their version"
