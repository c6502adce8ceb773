"""A repository of tiny Debian packages, made for a test and read by a host's real apt as a folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Package:
    """`extra`: further lines of its control file. `postinst`: a script that runs when it is configured.

    `files`: path and content of what else it brings; a first line with #! makes it a program. `size_kib`: of a file
    that it brings besides, without content that would compress.
    """

    name: str
    version: str
    extra: tuple[str, ...] = ()
    postinst: str = ""
    files: tuple[tuple[str, str], ...] = ()
    size_kib: int = 0


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
        *([f"Installed-Size: {one.size_kib}"] if one.size_kib else []),
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
    for path, content in one.files:
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(0o755 if content.startswith("#!") else 0o644)
    if one.size_kib:
        (root / "usr/share/made-by-a-test" / f"{one.name}.bin").write_bytes(os.urandom(one.size_kib << 10))
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


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key that was made for one test, in a folder of its own. `public`: armored."""

    home: Path
    fingerprint: str
    public: str

    def gpg(self, *words: str) -> str:
        argv = ["gpg", "--batch", "--yes", *words]
        env = {**os.environ, "GNUPGHOME": str(self.home)}
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout


def make_key(home: Path) -> SigningKey:
    home.mkdir(mode=0o700)
    key = SigningKey(home, "", "")
    key.gpg("--passphrase", "", "--quick-generate-key", "made by a test <tests@localhost>", "rsa2048", "sign", "never")
    lines = key.gpg("--list-keys", "--with-colons").splitlines()
    fingerprint = next(line.split(":")[9] for line in lines if line.startswith("fpr"))
    return SigningKey(home, fingerprint, key.gpg("--armor", "--export"))


def sign(folder: Path, key: SigningKey) -> None:
    """Make the index of a flat repository a signed one, with nothing in it but what `Packages` says."""
    index = (folder / "Packages").read_bytes()
    release = f"Suite: tests\nDate: {formatdate(usegmt=True).replace('GMT', 'UTC')}\nSHA256:\n"
    release += f" {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n"
    (folder / "Release").write_text(release)
    key.gpg("--local-user", key.fingerprint, "--clearsign", "-o", str(folder / "InRelease"), str(folder / "Release"))
    subprocess.run(["gpgconf", "--kill", "all"], env={**os.environ, "GNUPGHOME": str(key.home)}, check=False)
