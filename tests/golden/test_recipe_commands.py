"""The command of every recipe of ours on every hardware it names, on one node and on two: a change shows in review.

Write them anew with `BRINGUP_WRITE_GOLDEN=1 pytest tests/golden/test_recipe_commands.py`, and read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launch.catalogue import Catalogue, Found
from launch.resolve import resolve
from launch.resolve.choice import default_features
from launch.resolve.constraints import unmet
from launch.resolve.gates import Place, effective_strategies, supported
from launch.resolve.words import shown
from launch.vllm_args import check, parse

FOLDER = Path(__file__).parent / "recipe_commands"
OURS = Catalogue.of()


def cases() -> list[tuple[str, str, str, int]]:
    """Recipe, strategy, hardware and nodes: each strategy on the number of nodes that it is for."""
    found = []
    for id_ in OURS.ids():
        one = OURS.find(id_)
        for hardware in sorted(key for key, value in one.recipe.meta.hardware.items() if value != "unsupported"):
            place = Place(one.recipe, one.library, "default", hardware)
            for strategy in effective_strategies(one.recipe):
                if supported(place, strategy):
                    nodes = 2 if one.library.strategy(strategy).deploy_type == "multi_node" else 1
                    found.append((id_, strategy, hardware, nodes))
    return found


def version_of(found: Found) -> str:
    assert found.recipe.bringup.vllm_version is not None
    return found.recipe.bringup.vllm_version


def render(id_: str, strategy: str, hardware: str, nodes: int) -> str:
    """All nodes' commands as text, with what they are for in front."""
    found = OURS.find(id_)
    features = default_features(found.recipe, "default", hardware)
    resolved = resolve(found, strategy=strategy, hardware=hardware, node_count=nodes, features=features)
    parts = []
    for one in resolved.processes:
        env = "".join(f"{key}={value}\n" for key, value in sorted(one.env.items()))
        parts.append(f"# {one.role} {one.rank}\n{env}{shown(one.argv)}\n")
    return "\n".join(parts)


@pytest.mark.parametrize("id_", list(OURS.ids()))
def test_commands_are_those_that_were_reviewed(id_: str) -> None:
    text = "\n".join(
        f"## {hardware}, {strategy}, {nodes} node(s)\n\n{render(id_, strategy, hardware, nodes)}"
        for found, strategy, hardware, nodes in cases()
        if found == id_
    )
    path = FOLDER / f"{id_.replace('/', '--')}.txt"
    if os.environ.get("BRINGUP_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("id_", "strategy", "hardware", "nodes"), cases())
def test_commands_are_taken_by_the_pinned_version_and_meet_the_constraints(
    id_: str, strategy: str, hardware: str, nodes: int
) -> None:
    found = OURS.find(id_)
    features = default_features(found.recipe, "default", hardware)
    place = Place(found.recipe, found.library, "default", hardware)
    version = version_of(found)
    for one in resolve(found, strategy=strategy, hardware=hardware, node_count=nodes, features=features).processes:
        argv = [word.replace("$HEAD_IP", "10.0.0.1") for word in one.argv]
        assert check(argv, one.env, version) == ()
        assert list(unmet(place, strategy, parse(argv, version))) == []
