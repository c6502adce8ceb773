from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import BadInput
from launch.catalogue.find import OURS, Catalogue
from launch.choosing import hardware
from launch.vllm_args.parse import load

NEWEST = "0.33.0"


@pytest.fixture(scope="module")
def ours() -> Catalogue:
    return Catalogue.of()


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Pro"),
        ("DeepSeek-V4-Pro", "deepseek-ai/DeepSeek-V4-Pro"),
        ("deepseek-ai/deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Pro"),
        ("tiny-dense", "bringup/tiny-dense"),
        ("tiny-d", "bringup/tiny-dense"),
        ("gpt-oss", "openai/gpt-oss-120b"),
        (" gpt-oss-120b ", "openai/gpt-oss-120b"),
        ("openai", "openai/gpt-oss-120b"),
    ],
)
def test_friendly_names(ours: Catalogue, name: str, id_: str) -> None:
    assert ours.id_of(name) == id_


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("deepseek-v4-prp", "model-unknown", "did you mean deepseek-v4-pro?"),
        ("tiny", "model-ambiguous", "the same command with --model bringup/tiny-dense"),
        ("zzz", "model-unknown", "invoke recipes.list"),
        ("", "model-unknown", "invoke recipes.list"),
    ],
)
def test_near_misses(ours: Catalogue, name: str, error: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        ours.id_of(name)
    assert caught.value.id == error
    assert says in str(caught.value)
    known = "tiny" in says or "did you mean" in says
    assert caught.value.next_command.startswith("the same command with --model" if known else "invoke recipes.list")


def test_the_exact_name_wins_over_longer_ones(tmp_path: Path) -> None:
    for name in ("m", "m-large"):
        write(tmp_path / f"models/org/{name}.yaml", "model: {model_id: x}\n")
    assert Catalogue.of([tmp_path], ours=False).id_of("m") == "org/m"


def test_a_folder_that_is_no_catalogue(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a recipe catalogue"):
        Catalogue.of([tmp_path])


def test_the_operators_catalogue_comes_first_with_its_own_strategies(tmp_path: Path) -> None:
    write(tmp_path / "models/bringup/tiny-dense.yaml", "model: {model_id: theirs}\n")
    write(tmp_path / "strategies/single_node_tp.yaml", "vllm_args: [--theirs]\n")
    write(tmp_path / "taxonomy.yaml", "hardware_profiles: {h100: {gpu_count: 2}, odd: {gpu_count: 3}}\n")
    both = Catalogue.of([tmp_path])
    theirs, own = both.find("tiny-dense"), both.find("gpt-oss-120b")
    assert theirs.recipe.model.model_id == "theirs"
    assert theirs.library.strategy("single_node_tp").vllm_args == ("--theirs",)
    assert own.library.strategy("single_node_tp").vllm_args == ()
    assert (theirs.library.profile("h100").gpus, own.library.profile("h100").gpus) == (2, 8)
    assert theirs.library.strategy("multi_node_dp").deploy_type == "multi_node", "what theirs lacks is ours"
    assert own.library.profile("odd").gpus == 3


def test_unknown_hardware_and_strategies_are_empty(ours: Catalogue) -> None:
    library = ours.find("gpt-oss-120b").library
    assert (library.profile("nope").gpus, library.profile("nope").brand) == (1, "")
    assert library.strategy("nope").deploy_type == ""


def test_every_recipe_of_ours_loads_and_names_what_exists(ours: Catalogue) -> None:
    for id_ in ours.ids():
        found = ours.find(id_)
        recipe = found.recipe
        known = set(found.library.strategies)
        assert {*recipe.compatible_strategies, *recipe.strategy_overrides} <= known, id_
        assert set(recipe.meta.hardware) <= set(found.library.profiles), id_
        image_only = any(one.image_only for one in recipe.bringup.constraints)
        assert (recipe.bringup.vllm_version is None) == image_only, id_
        version = recipe.bringup.vllm_version or NEWEST
        assert load(version)["options"], id_
        assert set(recipe.opt_in_features) <= set(recipe.features), id_
        assert all(one.source for one in recipe.bringup.sources), id_
        flags = load(version)["flags"]
        for constraint in recipe.bringup.constraints:
            assert {*constraint.at_most, *constraint.at_least, *constraint.needs} <= set(flags), id_


def test_every_gpu_that_is_recognised_has_a_profile(ours: Catalogue) -> None:
    profiles = ours.find("gpt-oss-120b").library.profiles
    assert {profile for _, profile in hardware._PROFILES} - set(profiles) == set()
    assert hardware.CPU in profiles


def test_strategies_and_taxonomy_agree() -> None:
    folder = Catalogue.of().folders[-1]
    assert folder.path == OURS
    assert set(folder.taxonomy.strategies) == set(folder.strategies)
    assert all(strategy.name == name for name, strategy in folder.strategies.items())


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("said", "id_"),
    [
        ("kimi-k3", "moonshotai/Kimi-K3"),
        ("Kimi-K3.1", "moonshotai/Kimi-K3.1-Pro"),
        ("kimi-k3.1-pro", "moonshotai/Kimi-K3.1-Pro"),
        ("glm-5", "zai-org/GLM-5"),
        ("glm-5.3", "zai-org/GLM-5.3"),
        ("qwen3.5", "Qwen/Qwen3.5-397B-A17B"),
        ("qwen3.8-2.4t", "Qwen/Qwen3.8-2.4T-A95B"),
        ("qwen3.8-flash-next", "Qwen/Qwen3.8-Flash-Next"),
        ("deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Pro"),
        ("deepseek-v4.1", "deepseek-ai/DeepSeek-V4.1-Flash"),
        ("mistral", "mistralai/Mistral-Large-4"),
        ("ernie-5.5-flash", "baidu/ERNIE-5.5-Flash"),
        ("minimax-m3", "MiniMaxAI/MiniMax-M3"),
    ],
)
def test_every_series_has_a_friendly_name(ours: Catalogue, said: str, id_: str) -> None:
    assert ours.id_of(said) == id_


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("qwen3.8", "may mean 2 models"),
        ("kimi", "may mean 2 models"),
        ("kimi-k31-pro", "did you mean kimi-k3.1-pro"),
        ("deepseek-v4-por", "did you mean deepseek-v4-pro"),
        ("minimax-m4", "did you mean minimax-m3"),
    ],
)
def test_near_misses_name_what_was_probably_meant(ours: Catalogue, said: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        ours.id_of(said)
