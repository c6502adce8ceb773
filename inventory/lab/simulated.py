"""Environments and weights that only seem to be there, each marked as simulated in its own record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inventory.lab.image import make_folder, write
from inventory.quoting import quote


@dataclass(frozen=True, slots=True)
class StandIn:
    """An environment whose `vllm` is a program of ours: `python -m <module>`, given vLLM's own command line.

    `files`: what Python finds there, by its path below the import root, as files or folders of this machine.
    """

    digest: str
    vllm: str
    module: str
    files: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class Weights:
    """A model folder: `sizes` in bytes by file name (holes: they take no memory), `texts` with their content."""

    repo: str
    commit: str
    sizes: Mapping[str, int]
    texts: Mapping[str, str] = field(default_factory=dict)


def write_stand_in(layer: Path, state_dir: str, wanted: StandIn, interpreter: Path) -> None:
    top = f"{state_dir[1:]}/envs/{wanted.digest}"
    for name, source in wanted.files.items():
        _copy(layer, f"{top}/lib/{name}", source)
    path = f"/{top}/lib"
    starter = f'#!/bin/sh\nPYTHONPATH={path} exec {quote(interpreter)} -s -m {quote(wanted.module)} "$@"\n'
    write(layer, f"{top}/bin/vllm", starter, 0o755)
    (layer / top / "bin/python").symlink_to(interpreter)
    record = {"format_version": 1, "digest": wanted.digest, "vllm": wanted.vllm, "simulated": True}
    write(layer, f"{top}/bringup-env.json", json.dumps(record) + "\n")


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


def _copy(layer: Path, name: str, source: Path) -> None:
    make_folder(layer, Path(name).parent.as_posix())
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, layer / name, dirs_exist_ok=True, ignore=ignored)
    else:
        shutil.copy2(source, layer / name)
