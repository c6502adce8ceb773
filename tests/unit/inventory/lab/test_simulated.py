from __future__ import annotations

import json
from pathlib import Path

from inventory.lab import simulated
from inventory.lab.simulated import Weights

TB = 10**12


def test_weights_of_any_size_take_no_space(tmp_path: Path) -> None:
    wanted = Weights("org/model", "0" * 40, {"model-1.safetensors": TB}, {"config.json": '{"x": 1}\n'})
    simulated.write_weights(tmp_path, "/var/lib/bringup", wanted)
    folder = tmp_path / f"var/lib/bringup/weights/org--model/{'0' * 40}"
    shard = (folder / "model-1.safetensors").stat()
    assert (shard.st_size, shard.st_blocks) == (TB, 0)
    assert json.loads((folder / "config.json").read_text()) == {"x": 1}


def test_the_manifest_says_that_weights_are_simulated(tmp_path: Path) -> None:
    wanted = Weights("org/model", "0" * 40, {"b.safetensors": 7}, {"a.json": "{}"})
    simulated.write_weights(tmp_path, "/state", wanted)
    manifest = json.loads((tmp_path / f"state/weights/org--model/{'0' * 40}/.bringup-manifest.json").read_text())
    assert manifest["simulated"] is True
    assert (manifest["repo"], manifest["commit"], manifest["format_version"]) == ("org/model", "0" * 40, 1)
    assert [(file["path"], file["size"]) for file in manifest["files"]] == [("a.json", 2), ("b.safetensors", 7)]


def test_an_environment_is_copied_with_its_programs(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin/vllm").write_text("#!/bin/sh\n")
    (source / "bin/vllm").chmod(0o755)
    (source / "bin/python").symlink_to("/usr/bin/python3")
    (tmp_path / "layer").mkdir()
    simulated.write_environment(tmp_path / "layer", "/state", "digest", source)
    made = tmp_path / "layer/state/envs/digest/bin"
    assert (made / "vllm").stat().st_mode & 0o111 == 0o111
    assert (made / "python").readlink() == Path("/usr/bin/python3")
