from __future__ import annotations

import json
from pathlib import Path

import pytest

from launch.standin.argv import options
from launch.standin.log import Fault
from launch.standin.model import KV_TOKENS, Model, check_weights, read_model


def model(folder: Path, *words: str, **env: str) -> Model:
    return read_model(options([str(folder), *words], {}, "0.33.0"), env)


def write(folder: Path, name: str, value: object) -> Path:
    (folder / name).write_text(json.dumps(value))
    return folder


def test_a_folder_with_a_configuration(tmp_path: Path) -> None:
    config = {"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 8, "max_position_embeddings": 4096}
    found = model(write(tmp_path, "config.json", config))
    assert (found.architecture, found.moe, found.max_length) == ("Qwen3MoeForCausalLM", True, 4096)
    assert found.names == (str(tmp_path),)
    assert (found.kv_tokens, found.concurrency) == (65536, 16.0)


def test_text_configuration_of_a_multimodal_model(tmp_path: Path) -> None:
    found = model(write(tmp_path, "config.json", {"text_config": {"n_routed_experts": 4}}))
    assert found.moe


@pytest.mark.parametrize(("words", "moe"), [([], False), (["--enable-expert-parallel"], True)])
def test_a_simulated_folder_has_a_manifest_only(tmp_path: Path, words: list[str], *, moe: bool) -> None:
    found = model(write(tmp_path, ".bringup-manifest.json", {"simulated": True, "files": []}), *words)
    assert found.moe is moe
    check_weights(found)


def test_options_and_environment_win(tmp_path: Path) -> None:
    write(tmp_path, "config.json", {})
    found = model(tmp_path, "--max-model-len", "1K", "--served-model-name", "x", BRINGUP_STANDIN_KV_TOKENS="2048")
    assert KV_TOKENS == "BRINGUP_STANDIN_KV_TOKENS"
    assert (found.max_length, found.names, found.kv_tokens) == (1024, ("x",), 2048)


@pytest.mark.parametrize("text", [None, "not json", "[]"])
def test_what_is_not_a_model(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(Fault, match="Invalid repository ID or local directory specified"):
        model(tmp_path)


def test_no_weights_and_weights_of_another_size(tmp_path: Path) -> None:
    write(tmp_path, "config.json", {})
    with pytest.raises(Fault, match="Cannot find any model weights with"):
        check_weights(model(tmp_path))
    (tmp_path / "a.safetensors").write_bytes(b"abc")
    check_weights(model(tmp_path))
    write(tmp_path, ".bringup-manifest.json", {"files": [{"path": "a.safetensors", "size": 4}]})
    with pytest.raises(Fault, match="SafetensorError"):
        check_weights(model(tmp_path))
