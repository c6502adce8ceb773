from __future__ import annotations

from typing import Any

import pytest

from launch.resolve import resolve_case
from launch.resolve.words import last_of_each, shown, split_flags, without
from tests.unit.launch.resolve.cases import case

LAYERED: dict[str, Any] = {
    "model": {"model_id": "org/m", "base_args": ["--a", "base"], "base_env": {"E": "base", "ONLY": "base"}},
    "variants": {
        "default": {
            "extra_args": ["--a", "variant"],
            "extra_env": {"E": "variant"},
            "hardware_overrides": {
                "h100": {"extra_args": ["--exact", "variant"]},
                "hopper": {"extra_args": ["--a", "variant-generation"]},
            },
        }
    },
    "hardware_overrides": {"hopper": {"extra_args": ["--a", "recipe"], "extra_env": {"E": "recipe"}}},
}


def argv(*args: Any, **parts: Any) -> list[str]:  # noqa: ANN401
    return list(resolve_case(case(*args, **parts)).head.argv)


def env(*args: Any, **parts: Any) -> dict[str, str]:  # noqa: ANN401
    return dict(resolve_case(case(*args, **parts)).head.env)


def test_the_later_layer_wins_and_stands_where_it_was_said_last() -> None:
    words = argv(recipe=LAYERED)
    assert words == [
        *("vllm", "serve", "org/m", "--exact", "variant"),
        *("--tensor-parallel-size", "8", "--a", "variant-generation"),
    ]
    assert env(recipe=LAYERED) == {"E": "recipe", "ONLY": "base"}


@pytest.mark.parametrize(("block", "expected"), [({"extra_args": ["--a", "s"]}, "s"), ({}, "variant")])
def test_a_strategys_block_drops_the_recipes_and_the_variants_even_when_empty(block: object, expected: str) -> None:
    overrides = {"single_node_tp": {"hardware_overrides": {"hopper": block}}}
    words = argv(recipe={**LAYERED, "strategy_overrides": overrides})
    assert words[words.index("--a") + 1] == expected
    assert env(recipe={**LAYERED, "strategy_overrides": overrides})["E"] == "variant"


def test_the_exact_hardware_of_a_strategy_is_added_to_the_generations() -> None:
    overrides = {"single_node_tp": {"hardware_overrides": {"h100": {"extra_args": ["--b", "exact"]}}}}
    words = argv(recipe={**LAYERED, "strategy_overrides": overrides})
    assert words[-2:] == ["--b", "exact"]
    assert "variant-generation" in words


def test_nvidia_stands_for_generations_that_are_not_named_and_for_no_other_brand() -> None:
    parts = {"hardware_overrides": {"nvidia": {"extra_args": ["--nv"]}, "blackwell": {"extra_args": ["--bw"]}}}
    assert "--nv" in argv(recipe=parts)
    assert "--bw" in argv(hardware="gb200", recipe=parts)
    assert "--nv" not in argv(hardware="gb200", recipe=parts) + argv(hardware="mi300x", recipe=parts)


def test_advanced_arguments_come_after_the_hardware_and_before_the_features() -> None:
    parts = {**LAYERED, "features": {"f": {"args": ["--f"]}}}
    assert argv(recipe=parts, advanced=("--a", "mine"), features=("f",))[-3:] == ["--a", "mine", "--f"]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--a", "1", "pos", "--a", "2"], ("pos", "--a", "2")),
        (["--a", "--a", "1"], ("--a", "1")),
        (["--n", "0", "0", "1", "--n", "2"], ("0", "1", "--n", "2")),
        (["-tp", "1", "--tensor-parallel-size", "2"], ("-tp", "1", "--tensor-parallel-size", "2")),
        (["--x=1", "--x=2", "--x", "3"], ("--x=1", "--x=2", "--x", "3")),
        (["", "--a", "", "v"], ("--a", "v")),
    ],
)
def test_the_last_of_each_literal_flag_is_kept(words: list[str], kept: tuple[str, ...]) -> None:
    assert last_of_each(words) == kept


def test_a_flag_that_came_with_its_value_in_one_word_is_split() -> None:
    words = ["--max-model-len auto", '--x={"a": 1}', "a b", "--plain"]
    assert list(split_flags(words)) == ["--max-model-len", "auto", '--x={"a": 1}', "a b", "--plain"]
    resolved = resolve_case(case(recipe={"model": {"base_args": ["--max-model-len auto"]}}))
    assert [one.mark for one in resolved.defects] == ["flag_token_with_space"]


def test_taking_a_flag_out_takes_its_value() -> None:
    assert without(["a", "--n", "1", "--n", "--m"], "--n") == ("a", "--m")


def test_shown_for_a_shell() -> None:
    words = ["vllm", "serve", "org/m", "--a", "$HEAD_IP", "--b", '{"x":"it\'s"}', "--c"]
    assert shown(words) == "vllm serve org/m \\\n  --a $HEAD_IP \\\n  --b '{\"x\":\"it'\\''s\"}' \\\n  --c"


def test_features_are_gated_by_strategy_and_hardware() -> None:
    parts = {
        "features": {
            "a": {"args": ["--a"], "strategies": ["single_node_dep"]},
            "b": {"args": ["--b"], "hardware": {"hopper": "unsupported"}},
            "c": {"args": ["--c"], "env": {"C": 1}, "hardware_overrides": {"h100": {"args": []}, "amd": {"env": {}}}},
        }
    }
    every = ("a", "b", "c", "unknown")
    assert argv(recipe=parts, features=every)[3:] == ["--tensor-parallel-size", "8"]
    assert argv(hardware="mi300x", recipe=parts, features=every)[-2:] == ["--b", "--c"]
    assert (env(recipe=parts, features=every), env(hardware="mi300x", recipe=parts, features=every)) == ({"C": "1"}, {})
    resolved = resolve_case(case(recipe=parts, features=every))
    assert [one.mark for one in resolved.defects] == ["feature_hardware_gate_ignored"]


@pytest.mark.parametrize(
    ("picked", "variant", "hardware", "mode"),
    [
        ({}, "default", "h100", "--first"),
        ({"spec": "third"}, "default", "h100", "--third"),
        ({}, "dspark", "h100", "--second"),
        ({"spec": "second"}, "default", "h100", "--first"),
        ({}, "default", "mi300x", "--third-amd"),
    ],
)
def test_one_mode_of_a_feature_acts(picked: dict[str, str], variant: str, hardware: str, mode: str) -> None:
    modes = {
        "third": {"args": ["--third"], "hardware_overrides": {"amd": {"args": ["--third-amd"]}}},
        "first": {"args": ["--first"], "hardware": {"amd": "unsupported"}},
        "second": {"args": ["--second"], "variants": ["dspark"]},
    }
    parts = {
        "features": {"spec": {"modes": modes, "default_mode": "first"}},
        "variants": {"default": {}, "dspark": {"default_modes": {"spec": "second"}}},
    }
    assert argv(hardware=hardware, variant=variant, recipe=parts, features=("spec",), modes=picked)[-1] == mode


def test_a_feature_without_a_mode_that_may_act_adds_nothing() -> None:
    parts = {"features": {"spec": {"modes": {"m": {"args": ["--m"], "variants": ["other"]}}}}}
    assert argv(recipe=parts, features=("spec",))[3:] == ["--tensor-parallel-size", "8"]


@pytest.mark.parametrize(
    ("kv", "support", "hardware", "strategy", "there"),
    [
        ("simple", {}, "h100", "single_node_tp", True),
        ("simple", {"simple": "unsupported"}, "h100", "single_node_tp", False),
        ("checked", {}, "h100", "single_node_tp", False),
        ("checked", {"checked": "verified"}, "h100", "single_node_tp", True),
        ("checked", {"checked": "verified"}, "mi300x", "single_node_tp", False),
        ("pool", {}, "h100", "single_node_tp", True),
        ("pool", {}, "h100", "single_node_dep", False),
        ("nope", {}, "h100", "single_node_tp", False),
    ],
)
def test_kv_options_compose_where_they_may(
    kv: str, support: dict[str, str], hardware: str, strategy: str, *, there: bool
) -> None:
    plain = argv(strategy, hardware)
    assert (argv(strategy, hardware, recipe={"kv_offload_support": support}, kv=kv) != plain) is there


def test_helpers_stand_beside_a_single_process() -> None:
    parts = {"features": {"side": {"args": ["--s"], "companion": {"command": " run it "}}}}
    resolved = resolve_case(case(recipe=parts, features=("side",), kv="pool"))
    assert [(one.source, one.label, one.command) for one in resolved.helpers] == [
        ("side", "side", "run it"),
        ("kv_offload:pool", "Pool", "pool serve"),
    ]
    assert resolved.helpers[1].description == "beside it Requires: uv pip install pool"
    assert resolve_case(case("multi_node_tp", node_count=2, recipe=parts, features=("side",))).helpers == ()
