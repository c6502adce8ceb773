"""Folders of random files with their manifest, in lab hosts, made and read from outside."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from pathlib import Path

from inventory.lab.state import Lab
from launch.spread.parcel import Parcel, parcel_of


def root_of(lab: Lab, host: str) -> Path:
    """The root of a host's files, as this machine sees it."""
    return Path("/proc", (lab.of(host) / "pid").read_text().split()[0], "root")


def folder_of(place: Path, sizes: Mapping[str, int], chance: random.Random) -> Parcel:
    """Fill `place` with files of these sizes, in bytes; the manifest is not written."""
    listed = []
    for name, size in sizes.items():
        data, path = chance.randbytes(size), place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        listed.append({"path": name, "size": size, "sha256": hashlib.sha256(data).hexdigest()})
    return parcel_of(json.dumps({"format_version": 1, "files": listed}))


def wrong_files(place: Path, parcel: Parcel) -> list[str]:
    """Paths of the manifest that are not there, byte for byte."""
    found = []
    for one in parcel.files:
        path = place / one.path
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != one.sha256:
            found.append(one.path)
    return found
