"""Features by flag: in the recipe's order, never left out without a word."""

from __future__ import annotations

import pytest

from inventory.errors import BadInput
from launch.catalogue.find import Catalogue
from launch.choosing.features import Features, features_for
from launch.resolve import Case

CATALOGUE = Catalogue.of()


def case(model: str, strategy: str, hardware: str, variant: str = "default") -> Case:
    found = CATALOGUE.find(model)
    return Case(found.recipe, found.library, variant, strategy, hardware)


def asked(of: Case, *on: str, off: tuple[str, ...] = ()) -> Features:
    return features_for(of, on, off)


def test_without_flags_the_usual_ones_are_on() -> None:
    assert asked(case("kimi-k3", "single_node_tp", "b300")).names == ("tool_calling", "reasoning")


def test_what_is_switched_on_comes_in_the_recipes_order() -> None:
    found = asked(case("kimi-k3", "single_node_tp", "b300"), "spec_decoding", "text_only", off=("reasoning",))
    assert found.names == ("tool_calling", "text_only", "spec_decoding")


def test_a_mode_is_picked_by_name() -> None:
    found = asked(case("deepseek-v4-pro", "single_node_dep", "b200"), "spec_decoding=dspark")
    assert found.modes == {"spec_decoding": "dspark"}
    assert "spec_decoding" in found.names


def test_a_usual_feature_gives_way_to_the_one_that_excludes_it() -> None:
    found = asked(case("qwen3.5", "single_node_dep", "h200"), "text_only")
    assert "encoder_parallel" not in found.names
    assert found.notes == ("without encoder_parallel: text_only excludes it",)


@pytest.mark.parametrize(
    ("on", "off", "observed"),
    [
        (("text_onyl",), (), "--feature text_onyl"),
        ((), ("resoning",), "--no-feature resoning"),
        (("text_only", "encoder_parallel"), (), "both are asked for, and exclude each other"),
        (("reasoning",), ("reasoning",), "named by --feature and by --no-feature"),
        (("spec_decoding=mtp",), (), "--feature spec_decoding=mtp"),
    ],
)
def test_names_that_cannot_be_had(on: tuple[str, ...], off: tuple[str, ...], observed: str) -> None:
    with pytest.raises(BadInput) as refused:
        asked(case("qwen3.5", "single_node_tp", "h200"), *on, off=off)
    assert refused.value.observed == observed


@pytest.mark.parametrize(
    ("where", "feature", "reason"),
    [
        (case("kimi-k3", "single_node_tep", "b300"), "decode_context_parallel", "single_node_tep; the recipe has it"),
        (case("kimi-k3", "single_node_tp", "h200"), "spec_decoding", "h200; the recipe says unsupported there"),
        (case("deepseek-v4-pro", "single_node_dep", "b200"), "spec_decoding=mtp", "variant default on b200"),
    ],
)
def test_a_feature_that_would_add_nothing_is_refused(where: Case, feature: str, reason: str) -> None:
    with pytest.raises(BadInput) as refused:
        asked(where, feature)
    assert reason in str(refused.value.observed)
