"""Environments and weights that only seem to be there; their own records say that they are simulated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inventory.lab.image import make_folder, write


@dataclass(frozen=True, slots=True)
class Weights:
    """A model folder: `sizes` in bytes by file name (holes: they take no memory), `texts` with their content."""

    repo: str
    commit: str
    sizes: Mapping[str, int]
    texts: Mapping[str, str] = field(default_factory=dict)


def write_environment(layer: Path, state_dir: str, digest: str, source: Path) -> None:
    """Copy an environment that is small enough for memory, such as one of the stand-in engine."""
    top = f"{state_dir[1:]}/envs/{digest}"
    make_folder(layer, f"{state_dir[1:]}/envs")
    shutil.copytree(source, layer / top, symlinks=True)


def write_weights(layer: Path, state_dir: str, wanted: Weights) -> None:
    """The manifest has no checksums of what has no content."""
    top = f"{state_dir[1:]}/weights/{wanted.repo.replace('/', '--')}/{wanted.commit}"
    for name, size in wanted.sizes.items():
        write(layer, f"{top}/{name}", "")
        with (layer / top / name).open("r+b") as hole:
            hole.truncate(size)
    for name, text in wanted.texts.items():
        write(layer, f"{top}/{name}", text)
    sizes = {**wanted.sizes, **{name: len(text.encode()) for name, text in wanted.texts.items()}}
    record = {
        "format_version": 1,
        "repo": wanted.repo,
        "commit": wanted.commit,
        "simulated": True,
        "files": [{"path": name, "size": size, "sha256": ""} for name, size in sorted(sizes.items())],
    }
    write(layer, f"{top}/.bringup-manifest.json", json.dumps(record) + "\n")
