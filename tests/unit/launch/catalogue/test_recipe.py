from __future__ import annotations

from pathlib import Path

import pytest

from inventory import yamlfile
from inventory.errors import BadInput, Several
from launch.catalogue.find import Folder, plain
from launch.catalogue.recipe import Recipe, mode_errors

GOOD = """
meta: {tasks: [text], hardware: {h100: verified}}
model:
  model_id: org/m
  min_vllm_version: 0.20.0
  base_args: [--max-model-len, 8192, --gpu-memory-utilization, 0.90, --x, 2.0, --y, true, --z, off, --w, null]
  base_env: {A: 0, B: yes}
variants:
  default: {precision: fp8, vram_minimum_gb: 96}
  big: {model_id: org/m-big, hardware_overrides: {blackwell: {}, hopper: null}}
"""


def read(tmp_path: Path, text: str, *, foreign: bool = False) -> Recipe:
    path = tmp_path / "models/org/m.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return Folder(tmp_path, foreign=foreign).recipe("org/m")


def test_scalars_of_arguments_are_words_as_the_public_catalogue_reads_them(tmp_path: Path) -> None:
    model = read(tmp_path, GOOD).model
    assert model.base_args == (
        *("--max-model-len", "8192", "--gpu-memory-utilization", "0.9", "--x", "2", "--y", "true"),
        *("--z", "off", "--w", ""),
    )
    assert model.base_env == {"A": "0", "B": "yes"}
    assert model.min_vllm_version == "0.20.0"


def test_an_empty_block_is_there_and_a_null_one_is_not(tmp_path: Path) -> None:
    assert list(read(tmp_path, GOOD).variant("big").hardware_overrides) == ["blackwell"]


def test_an_unknown_variant_has_the_defaults_data(tmp_path: Path) -> None:
    recipe = read(tmp_path, GOOD)
    assert recipe.variant("nope") is recipe.variant("default")
    assert (recipe.model_id("nope"), recipe.model_id("big")) == ("org/m", "org/m-big")
    assert Recipe().model_id("default") == "unknown"


def test_a_wrong_key_has_a_position_and_a_did_you_mean(tmp_path: Path) -> None:
    text = GOOD.replace("base_env", "base_envs")
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text)
    assert "models/org/m.yaml:7:3" in caught.value.message
    assert "base_env" in str(caught.value)
    assert caught.value.exit_code == 2


def test_all_wrong_keys_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(Several) as caught:
        read(tmp_path, GOOD.replace("tasks", "task").replace("precision", "precison"))
    assert len(caught.value.errors) == 2


def test_unknown_keys_of_foreign_files_are_ignored_and_wrong_types_are_not(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD + "some_new_key: {x: 1}\n", foreign=True).model.model_id == "org/m"
    with pytest.raises(BadInput, match=r"m\.yaml"):
        read(tmp_path, GOOD.replace("base_args: [", "base_args: x #["), foreign=True)


@pytest.mark.parametrize(
    ("change", "place", "why"),
    [
        ("modes: {}", ("features", "spec", "modes"), "no mode is declared"),
        ("{args: [a], modes: {a: {args: []}}}", ("features", "spec", "args"), "a feature has either args or modes"),
        ("{default_mode: b, modes: {a: {}}}", ("features", "spec", "default_mode"), "no mode is called b"),
        (
            "{modes: {a: {variants: [nope]}}}",
            ("features", "spec", "modes", "a", "variants"),
            "no variant is called nope",
        ),
        ("{modes: {a: {variants: [big]}}}", ("features", "spec", "modes"), "the variant default has no mode left"),
    ],
)
def test_modes_name_existing_things(change: str, place: tuple[str, ...], why: str) -> None:
    body = change if change.startswith("{") else f"{{{change}}}"
    text = f"features: {{spec: {body}}}\nvariants: {{default: {{}}, big: {{}}}}\n"
    recipe = plain(yamlfile.parse(text.encode(), "x.yaml")).validate(Recipe)
    assert mode_errors(recipe)[place] == why


def test_a_commit_of_ours_is_pinned_whole(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"m\.yaml"):
        read(tmp_path, GOOD + "bringup: {revisions: {default: {revision: main}}}\n")
