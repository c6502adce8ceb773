from __future__ import annotations

import json
from pathlib import Path

import pytest

from inventory.errors import BadInput
from launch.catalogue.find import Catalogue
from launch.memory.architecture import FOLDER, Delta, Heads, Records, load, names, read, shown
from launch.memory.from_config import of_config
from launch.memory.of_recipe import architecture_of

CATALOGUE = Catalogue.of()
BARE = {"model": "m", "source": "s", "caches": [{"kind": "heads", "layers": 2, "kv_heads": 2, "head_size": 64}]}


@pytest.mark.parametrize("name", names())
def test_every_data_file_is_read_and_says_where_it_is_from(name: str) -> None:
    one = load(name)
    assert one.architecture.source
    assert one.architecture.caches or one.architecture.missing
    assert all(doubt.source and doubt.status in {"found", "derived", "assumed"} for doubt in one.doubts.values())
    assert len(list(shown(one))) == len(one.doubts)


def test_every_architecture_that_a_recipe_names_is_there_and_every_file_is_named() -> None:
    named = {found.recipe.bringup.architecture for found in map(CATALOGUE.find, CATALOGUE.ids())} - {None}
    assert named == set(names())
    assert {path.suffix for path in FOLDER.iterdir()} == {".yaml"}


def test_layers_add_up() -> None:
    """Caches of tokens and states together are as many as the model has layers; compressed models have more caches."""
    for name in names():
        one = load(name).architecture
        if one.packed or one.missing or one.layers is None:
            continue
        own = [part for part in one.caches if not (isinstance(part, Records) and part.role == "index")]
        assert sum(part.layers for part in own) == one.layers, name


def test_a_number_with_a_doubt_is_a_number() -> None:
    doubted = {"value": 4, "status": "assumed", "source": "a guess"}
    one = read({**BARE, "heads": doubted, "caches": [{**BARE["caches"][0], "kv_heads": doubted}]}, "here")  # type: ignore[dict-item]
    assert one.architecture.heads == 4
    assert set(one.doubts) == {"heads", "caches[0].kv_heads"}
    assert "heads 4: assumed, a guess" in list(shown(one))


@pytest.mark.parametrize(
    "change",
    [
        {"layer": 2},
        {"layers": -1},
        {"layers": "many"},
        {"caches": [{"kind": "other"}]},
        {"heads": {"value": 4, "status": "sure", "source": "me"}},
        {"caches": [{"kind": "heads", "layers": 2}]},
    ],
    ids=str,
)
def test_wrong_data_is_refused_with_its_place(change: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="architecture-unreadable"):
        read({**BARE, **change}, "here")


def test_an_architecture_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no architecture nothing"):
        load("nothing")


def test_the_tiny_models_tell_their_own() -> None:
    for name in ("tiny-dense", "tiny-moe"):
        one = architecture_of(CATALOGUE.find(name).recipe)
        assert one is not None
        assert one.architecture.caches == (Heads(kind="heads", layers=2, kv_heads=2, head_size=32),)
    assert one is not None
    assert one.architecture.experts is not None


def test_a_config_of_heads() -> None:
    config = {"num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 512, "sliding_window": None}
    one = of_config(config).architecture
    assert one.caches == (Heads(kind="heads", layers=4, kv_heads=8, head_size=64),)
    assert one.context is None, "absent stays absent"


def test_a_config_in_a_multimodal_one() -> None:
    text = {"num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 128}
    one = of_config({"architectures": ["Some"], "text_config": text, "vision_config": {"num_hidden_layers": 9}})
    assert one.architecture.caches == (Heads(kind="heads", layers=4, kv_heads=1, head_size=128),)


@pytest.mark.parametrize(
    ("own", "full", "windowed"),
    [
        ({"sliding_window": 128}, 0, 6),
        ({"sliding_window": 128, "use_sliding_window": False}, 6, 0),
        ({"sliding_window": 128, "sliding_window_pattern": 3}, 2, 4),
        ({"sliding_window": 128, "layer_types": ["full_attention", "sliding_attention"] * 3}, 3, 3),
        ({"layer_types": ["sliding_attention"] * 6}, 6, 0),
    ],
)
def test_windows_of_a_config(own: dict[str, object], full: int, windowed: int) -> None:
    config = {"num_hidden_layers": 6, "num_attention_heads": 2, "head_dim": 64, **own}
    parts = {part.window: part.layers for part in of_config(config).architecture.caches if isinstance(part, Heads)}
    assert parts == {window: layers for window, layers in ((None, full), (128, windowed)) if layers}


def test_a_config_with_latents_and_an_indexer() -> None:
    config = {"num_hidden_layers": 78, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_head_dim": 128}
    latents, keys = of_config(config).architecture.caches
    assert isinstance(latents, Records)
    assert latents.bytes_by_dtype["fp8_ds_mla"] == 656
    assert isinstance(keys, Records)
    assert dict(keys.bytes_by_dtype) == {"fp8": 132, "mxfp4": 68}
    assert load("glm-5").architecture.becomes == of_config(config).architecture.becomes


def test_a_config_with_states() -> None:
    config = {
        "num_hidden_layers": 8,
        "num_attention_heads": 2,
        "head_dim": 64,
        "full_attention_interval": 4,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "mamba_ssm_dtype": "float32",
    }
    heads, states = of_config(config).architecture.caches
    assert (heads.layers, states.layers) == (2, 6)
    assert isinstance(states, Delta)
    assert (states.value_heads, states.recurrent_dtype) == (32, "float32")


@pytest.mark.parametrize(
    "config", [{}, {"mamba_d_state": 16}, {"num_hidden_layers": True}, {"layer_types": 3}, {"text_config": []}], ids=str
)
def test_a_config_that_is_not_understood_says_what_is_missing(config: dict[str, object]) -> None:
    assert of_config(config).architecture.missing


def test_a_config_with_layers_that_are_not_described_is_a_lower_bound() -> None:
    config = {"num_hidden_layers": 4, "num_attention_heads": 8, "head_dim": 64, "mamba_d_state": 16}
    assert of_config(config).architecture.missing == ("states of Mamba layers",)


def test_the_fixture_of_a_tiny_model_is_its_config(tmp_path: Path) -> None:
    from launch.tiny.make_weights import files

    (tmp_path / "config.json").write_bytes(files("dense", 0)["config.json"])
    written = of_config(json.loads((tmp_path / "config.json").read_text()))
    made = architecture_of(CATALOGUE.find("tiny-dense").recipe)
    assert made is not None
    assert written.architecture.caches == made.architecture.caches
