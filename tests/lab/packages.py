"""A repository of tiny Debian packages, made for a test and read by a host's real apt as a folder."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Package:
    """`extra`: further lines of its control file. `postinst`: a script that runs when it is configured."""

    name: str
    version: str
    extra: tuple[str, ...] = ()
    postinst: str = ""


def make_repository(folder: Path, packages: Sequence[Package]) -> None:
    """Build each package into `folder`, with the index that apt reads."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [_entry(folder, one) for one in packages]
    (folder / "Packages").write_text("\n".join(entries))


def _control(one: Package) -> str:
    lines = (
        f"Package: {one.name}",
        f"Version: {one.version}",
        "Architecture: all",
        "Maintainer: Tests <tests@localhost>",
        *one.extra,
        "Description: made by a test",
    )
    return "\n".join(lines) + "\n"


def _entry(folder: Path, one: Package) -> str:
    root = folder / f"{one.name}_{one.version.replace(':', '%3a')}"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "usr/share/made-by-a-test").mkdir(parents=True)
    (root / "usr/share/made-by-a-test" / one.name).write_text(one.version)
    (root / "DEBIAN/control").write_text(_control(one))
    if one.postinst:
        script = root / "DEBIAN/postinst"
        script.write_text(f"#!/bin/sh\n{one.postinst}\n")
        script.chmod(0o755)
    deb = folder / f"{root.name}.deb"
    argv = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(root), str(deb)]
    subprocess.run(argv, check=True, capture_output=True)
    data = deb.read_bytes()
    found = f"Filename: ./{deb.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
    return _control(one) + found
