"""The tiny models: the same bytes everywhere. That an engine and a second implementation load them: tests/vllm_cpu."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
from math import prod, sqrt
from pathlib import Path
from typing import Any

import pytest

from launch.tiny import make_weights
from launch.tiny.make_weights import MANIFEST, files, safetensors, shapes

PROGRAM = Path(make_weights.__file__)
# Of the bytes that were served by vLLM 0.32.0. A change of the program that changes them is a change of the model.
KNOWN = {
    "dense": "5d7e2381bc055ec53fb3bd23eb2c4889cfb350a5b5d3aeec92c57793bf8b0562",
    "moe": "805a4dbb4391c2707d040754741aef98542554f135fd3a894e663a41dccefc16",
}


def run(target: Path, kind: str, *, seed: int = 0) -> dict[str, Any]:
    """As a host runs it: the text on stdin, nothing of ours importable."""
    words = [
        "--kind",
        kind,
        "--target",
        str(target),
        "--repo",
        "bringup/tiny",
        "--commit",
        "c" * 40,
        "--seed",
        str(seed),
    ]
    subprocess.run([sys.executable, "-I", "-", *words], input=PROGRAM.read_bytes(), check=True, timeout=20)
    manifest: dict[str, Any] = json.loads((target / MANIFEST).read_text())
    return manifest


@pytest.mark.parametrize("kind", KNOWN)
def test_the_bytes_are_the_same_on_every_host(kind: str) -> None:
    assert hashlib.sha256(safetensors(kind, 0)).hexdigest() == KNOWN[kind]


@pytest.mark.parametrize("kind", KNOWN)
def test_a_folder_is_listed_completely_in_its_manifest(tmp_path: Path, kind: str) -> None:
    manifest = run(tmp_path / "a b" / "c", kind)

    assert (manifest["repo"], manifest["commit"], manifest["simulated"]) == ("bringup/tiny", "c" * 40, False)
    listed = {one["path"]: (one["size"], one["sha256"]) for one in manifest["files"]}
    found = {
        path.name: (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in (tmp_path / "a b" / "c").iterdir()
        if path.name != MANIFEST
    }
    assert listed == found


def test_another_seed_is_another_model(tmp_path: Path) -> None:
    one, two = (run(tmp_path / str(seed), "dense", seed=seed) for seed in (1, 2))
    different = [a["path"] for a, b in zip(one["files"], two["files"], strict=True) if a["sha256"] != b["sha256"]]
    assert different == ["model.safetensors"]


@pytest.mark.parametrize("kind", KNOWN)
def test_tensors_fill_the_file_without_gaps_and_stay_in_their_bounds(kind: str) -> None:
    data = safetensors(kind, 0)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]

    assert {name: tuple(one["shape"]) for name, one in header.items()} == shapes(kind)
    end = 0
    for name, one in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = (end, one["data_offsets"][1])
        assert (one["data_offsets"][0], end - begin) == (begin, 4 * prod(one["shape"])), name
        values = struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin : 8 + length + end])
        bound = 1.0 if len(one["shape"]) == 1 else sqrt(3 / one["shape"][-1])
        assert max(map(abs, values)) <= bound, name
    assert 8 + length + end == len(data)


def test_every_byte_has_its_token() -> None:
    tokenizer = json.loads(files("dense", 0)["tokenizer.json"])
    ids = [*tokenizer["model"]["vocab"].values(), *(one["id"] for one in tokenizer["added_tokens"])]
    assert sorted(ids) == list(range(json.loads(files("dense", 0)["config.json"])["vocab_size"]))


def test_a_refused_kind_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run(tmp_path / "x", "huge")
    assert not (tmp_path / "x").exists()
