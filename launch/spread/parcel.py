"""What is spread: the files of a folder with their sums, and the manifest that is written behind them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from inventory.errors import BadInput

MANIFEST = ".bringup-manifest.json"


@dataclass(frozen=True, slots=True)
class ParcelFile:
    path: str  # below the folder
    size: int  # bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Parcel:
    """`manifest`: the text that is put into the folder as `manifest_name`, by rename, when every file had its sum."""

    files: tuple[ParcelFile, ...]
    manifest: str
    manifest_name: str = MANIFEST

    @property
    def size(self) -> int:
        return sum(one.size for one in self.files)

    @property
    def digest(self) -> str:
        """64 hexadecimal digits of what is spread: the same files below another manifest are something else."""
        told = [sorted((one.path, one.size, one.sha256) for one in self.files), self.manifest, self.manifest_name]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def parcel_of(manifest: str, name: str = MANIFEST) -> Parcel:
    """Read a manifest: JSON with `files`, each with `path`, `size` and `sha256`. Raises `BadInput` for what is none."""
    try:
        listed = _files(json.loads(manifest))
        files = tuple(ParcelFile(str(one["path"]), one["size"], str(one["sha256"])) for one in listed)
    except (ValueError, KeyError, TypeError) as error:
        raise _refused(f"{type(error).__name__}: {error}") from None
    wrong = next(_faults(files, name), None)
    if wrong:
        raise _refused(wrong)
    return Parcel(files, manifest, name)


def _files(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    files = document["files"]
    if not isinstance(files, list) or not files:
        raise ValueError("no files in it")
    return files


def _faults(files: Iterable[ParcelFile], name: str) -> Iterator[str]:
    seen: set[str] = {name}
    for one in files:
        path = PurePosixPath(one.path)
        inside = one.path == str(path) and not path.is_absolute() and ".." not in path.parts and one.path != "."
        if not inside or any(ord(character) < 32 for character in one.path):
            yield f"{one.path!r} is no path of a file below the folder"
        if one.path in seen:
            yield f"{one.path!r} is in it twice"
        if type(one.size) is not int or one.size < 0:
            yield f"{one.path!r} has no size"
        if len(one.sha256) != 64 or set(one.sha256) - set("0123456789abcdef"):
            yield f"{one.path!r} has no sha256"
        seen.add(one.path)


def _refused(observed: str) -> BadInput:
    return BadInput(
        "the manifest of a folder cannot be used",
        id="spread-manifest",
        observed=observed[:300],
        required="JSON with files, each with a path below the folder, a size and a sha256",
        next_command="make the manifest again: invoke weights.verify",
    )
