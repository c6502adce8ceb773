"""A vendor's repositories of packages, made for a test: signed, served by the host itself, for its real apt or dnf."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from inventory.fleet import Fleet
from inventory.transport.base import Transport
from tests.lab.packages import Package, make_repository

PORT = 8099
URL = f"http://127.0.0.1:{PORT}"
SERVE = f"""cd /srv && exec python3 -m http.server --bind 127.0.0.1 {PORT} >/dev/null 2>&1 </dev/null"""


class Signer:
    """A key of its own below `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True)
        self._env = {**os.environ, "GNUPGHOME": str(folder)}
        self._gpg(
            "--passphrase", "", "--quick-generate-key", "made by a test <a@localhost>", "rsa2048", "sign", "never"
        )
        self.key = self._gpg("--armor", "--export")

    def _gpg(self, *words: str, data: bytes = b"") -> bytes:
        argv = ["gpg", "--batch", "--pinentry-mode", "loopback", *words]
        return subprocess.run(argv, env=self._env, input=data, check=True, capture_output=True).stdout

    def clear_signed(self, text: str) -> bytes:
        return self._gpg("--clearsign", data=text.encode())

    def sign_rpms(self, folder: Path) -> None:
        # Debian's rpm looks for a gpg2, which Debian does not have.
        name = ("--define", "_gpg_name made by a test <a@localhost>", "--define", f"__gpg {shutil.which('gpg')}")
        rpms = [str(path) for path in sorted(folder.glob("*.rpm"))]
        subprocess.run(["rpmsign", *name, "--addsign", *rpms], env=self._env, check=True, capture_output=True)
        subprocess.run(["createrepo_c", "--quiet", str(folder)], check=True, capture_output=True)

    def close(self) -> None:
        subprocess.run(["gpgconf", "--kill", "all"], env=self._env, check=False, capture_output=True)


def make_suite(folder: Path, suite: str, packages: Sequence[Package], signer: Signer) -> None:
    """`dists/SUITE/main/binary-amd64` with its packages in `pool`, as apt finds them."""
    make_repository(folder / "pool", packages)
    index = (folder / "pool" / "Packages").read_text().replace("Filename: ./", "Filename: pool/")
    place = folder / "dists" / suite / "main/binary-amd64"
    place.mkdir(parents=True)
    (place / "Packages").write_text(index)
    digest = hashlib.sha256(index.encode()).hexdigest()
    release = (
        f"Suite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\n"
        "Date: Mon, 02 Nov 2026 00:00:00 UTC\n"
        f"SHA256:\n {digest} {len(index)} main/binary-amd64/Packages\n"
    )
    (folder / "dists" / suite / "InRelease").write_bytes(signer.clear_signed(release))


def put_folder(fleet: Fleet, folder: Path, place: str) -> None:
    """Give every host the folder as one of its own, without what packages were built from."""
    kept = {".deb", ".rpm", ".xml", ".gz", ".bz2", ".zst", ".xz", ""}

    def send(transport: Transport) -> None:
        files = [one for one in folder.rglob("*") if one.is_file() and one.suffix in kept and "DEBIAN" not in one.parts]
        shown = [one for one in files if "usr" not in one.relative_to(folder).parts]
        folders = sorted({f"{place}/{one.parent.relative_to(folder)}" for one in shown})
        transport.run(f"mkdir -p {' '.join(folders)}", timeout=20)
        for one in shown:
            transport.put(one.read_bytes(), f"{place}/{one.relative_to(folder)}", mode=0o644)

    fleet.each(send)
