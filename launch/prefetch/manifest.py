"""The files of one pinned revision: what must lie in a folder of weights, byte for byte. Pure.

The same JSON lies in the folder as `.bringup-manifest.json` when every file of it was read there and had its sum: it is
written last, by rename, so that `present` means verified.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

FORMAT_VERSION = 1
NAME = ".bringup-manifest.json"
SHA1_DIGITS, SHA256_DIGITS = 40, 64


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """`sha256` None: the source tells none (small files of a hub). Then `git_sha1`, as git blob."""

    path: str  # below the folder
    size: int  # bytes
    sha256: str | None = None
    git_sha1: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """`source`: where it came from, as an operator reads it; never with a password."""

    repo: str
    commit: str
    files: tuple[ManifestFile, ...]
    source: str = ""
    simulated: bool = False

    @property
    def bytes(self) -> int:
        return sum(one.size for one in self.files)

    @property
    def sizes(self) -> dict[str, int]:
        return {one.path: one.size for one in self.files}

    @property
    def is_sealed(self) -> bool:
        """Whether every file has its sha256, as in the folder of a host."""
        return all(one.sha256 for one in self.files)

    def to_json(self) -> str:
        files = [
            {"path": one.path, "size": one.size}
            | ({"sha256": one.sha256} if one.sha256 else {})
            | ({"git_sha1": one.git_sha1} if one.git_sha1 else {})
            for one in self.files
        ]
        head = {"format_version": FORMAT_VERSION, "repo": self.repo, "commit": self.commit}
        return json.dumps({**head, "source": self.source, "simulated": self.simulated, "files": files})

    def with_sums(self, sums: Mapping[str, str]) -> Manifest:
        """The same with the sha256 of `sums` (by path) where it had none."""
        files = (ManifestFile(f.path, f.size, f.sha256 or sums.get(f.path), f.git_sha1) for f in self.files)
        return Manifest(self.repo, self.commit, tuple(files), self.source, self.simulated)


def read_manifest(text: str) -> Manifest:
    """Read what `to_json` wrote. Raises `ValueError` for anything else, a path that leaves the folder among it."""
    told = json.loads(text)
    if not isinstance(told, dict) or told.get("format_version") != FORMAT_VERSION:
        raise ValueError(f"not a manifest of version {FORMAT_VERSION}")
    files = told.get("files")
    if not isinstance(files, list) or not files:
        raise ValueError("a manifest without files")
    repo, commit = str(told.get("repo", "")), str(told.get("commit", ""))
    made = tuple(_file(one) for one in files)
    if len({one.path for one in made}) != len(made):
        raise ValueError("a path stands twice in the manifest")
    return Manifest(repo, commit, made, str(told.get("source", "")), told.get("simulated") is True)


def is_inside(path: str) -> bool:
    """Whether `path` is that of a file below a folder, and none of ours or of a download tool."""
    parts = PurePosixPath(path).parts
    printable = path.isprintable() and "\\" not in path
    return bool(parts) and printable and str(PurePosixPath(path)) == path and _is_plain(parts)


def _is_plain(parts: tuple[str, ...]) -> bool:
    return parts[0] not in {"/", ".cache"} and ".." not in parts and not parts[0].startswith(".bringup-")


def _file(told: Any) -> ManifestFile:  # noqa: ANN401  (JSON of somebody)
    if not isinstance(told, dict):
        raise ValueError("a file that is no object")  # noqa: TRY004  (data, not a type of ours)
    path, size = told.get("path"), told.get("size")
    if not isinstance(path, str) or not is_inside(path):
        raise ValueError(f"not the path of a file in a folder: {path!r}")
    if not isinstance(size, int) or size < 0:
        raise ValueError(f"{path} has no size")
    return ManifestFile(path, size, _sum(told, "sha256", SHA256_DIGITS), _sum(told, "git_sha1", SHA1_DIGITS))


def _sum(told: Mapping[str, Any], key: str, digits: int) -> str | None:
    value = told.get(key)
    if value in {None, ""}:  # simulated weights have none
        return None
    if not isinstance(value, str) or len(value) != digits or not set(value) <= set("0123456789abcdef"):
        raise ValueError(f"{told['path']} has no {key}")
    return value
