"""What forbids a launch whatever its command line is."""

from __future__ import annotations

import pytest

from inventory.errors import BringupError, Several
from launch.catalogue.find import Catalogue
from launch.choosing.offer import refuse_unlaunchable, strategy_of, variant_for
from launch.resolve.gates import Place

CATALOGUE = Catalogue.of()


def refused(model: str, hardware: str, strategy: str = "") -> set[str]:
    """The ids of everything that forbids `model` on `hardware`."""
    found = CATALOGUE.find(model)
    place = Place(found.recipe, found.library, variant_for(found, hardware), hardware)
    try:
        refuse_unlaunchable(found, place, strategy)
    except Several as several:
        return {error.id for error in several.errors}
    except BringupError as error:
        return {error.id}
    return set()


@pytest.mark.parametrize(
    ("model", "hardware", "ids"),
    [
        ("deepseek-v4-pro", "gb200", set()),
        ("gpt-oss-120b", "h100", set()),
        ("tiny-dense", "cpu", set()),
        ("tiny-moe", "cpu", set()),
        ("ernie-5.5-flash", "h200", {"plugin-missing"}),
        ("kimi-k3.1-pro", "gb300", set()),
        ("gpt-oss-120b", "mi300x", set()),
        ("deepseek-v4-pro", "mi300x", {"recipe.hardware"}),
    ],
)
def test_a_model_runs_on_a_hardware_or_every_reason_is_told(model: str, hardware: str, ids: set[str]) -> None:
    assert refused(model, hardware) >= ids
    assert bool(refused(model, hardware)) == bool(ids)


def test_several_hosts_keep_ranks_whole_where_a_replica_fits_one() -> None:
    found = CATALOGUE.find("gpt-oss-120b")
    place = Place(found.recipe, found.library, "default", "h100")
    assert strategy_of(place, 1).startswith("single_node")
    assert strategy_of(place, 2) == "multi_node_dep"
