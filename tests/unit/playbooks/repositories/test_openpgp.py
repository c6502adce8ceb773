"""Keys of repositories: whose they are, whatever their form; what is none says why."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.repositories.openpgp import NoKey, armored, read_key

BODY = b"\x04\x63\x00\x00\x00\x16" + bytes(range(60))


def old(tag: int, body: bytes) -> bytes:
    return bytes([0x80 | tag << 2 | 1]) + len(body).to_bytes(2, "big") + body


def new(tag: int, body: bytes) -> bytes:
    size = bytes([len(body)]) if len(body) < 192 else b"\xff" + len(body).to_bytes(4, "big")
    return bytes([0xC0 | tag]) + size + body


KEY = old(6, BODY) + old(13, b"someone <a@b>") + old(2, b"\x04\x13") + old(14, BODY)
WHOSE = hashlib.sha1(b"\x99" + len(BODY).to_bytes(2, "big") + BODY, usedforsecurity=False).hexdigest().upper()


@pytest.mark.parametrize("data", [KEY, new(6, BODY) + new(13, b"x" * 300), armored(KEY).encode()])
def test_the_fingerprint_is_the_same_in_every_form(data: bytes) -> None:
    assert read_key(data).fingerprints == (WHOSE,)
    assert read_key(read_key(data).armored.encode()).fingerprints == (WHOSE,)


def test_all_primary_keys_are_told() -> None:
    other = BODY[:-1] + b"\x00"
    assert len(read_key(KEY + old(6, other)).fingerprints) == 2
    assert len(read_key((armored(KEY) + armored(old(6, other))).encode()).fingerprints) == 2


def test_a_key_of_version_6_has_a_longer_one() -> None:
    assert len(read_key(new(6, b"\x06" + BODY[1:])).fingerprints[0]) == 64


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no public key"),
        (b"<html>please log in</html>", "no OpenPGP data"),
        (b"-----BEGIN CERTIFICATE-----\nQQ==\n", "no block"),
        (armored(KEY).replace("A", "!", 1).encode(), "damaged"),
        (KEY[:20], "in the middle"),
        (old(5, BODY), "secret key"),
        (old(7, BODY) + KEY, "secret key"),
        (old(6, b"\x03" + BODY), "version 3"),
        (b"\x9b\x00", "without a length"),
        (b"\xc6\xe1" + BODY, "in pieces"),
        (KEY * 4000, "no single key"),
    ],
)
def test_what_is_no_key_says_why(data: bytes, why: str) -> None:
    with pytest.raises(NoKey, match=why):
        read_key(data)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_key_or_none(data: bytes) -> None:
    try:
        found = read_key(data).fingerprints
    except NoKey:
        return
    assert found


def test_gpg_agrees(tmp_path: Path) -> None:
    if not shutil.which("gpg"):
        pytest.skip("no gpg on this machine")
    env = {**os.environ, "GNUPGHOME": str(tmp_path)}
    tmp_path.chmod(0o700)

    def gpg(*words: str) -> bytes:
        return subprocess.run(["gpg", "--batch", *words], env=env, check=True, capture_output=True).stdout

    gpg("--passphrase", "", "--quick-generate-key", "made by a test <a@localhost>", "ed25519", "sign", "never")
    told = gpg("--list-keys", "--with-colons").decode()
    fingerprint = next(line.split(":")[9] for line in told.splitlines() if line.startswith("fpr"))
    for data in (gpg("--export"), gpg("--armor", "--export")):
        key = read_key(data)
        assert key.fingerprints == (fingerprint,)
        (tmp_path / "again.asc").write_text(key.armored)
        assert fingerprint.encode() in gpg("--show-keys", "--with-colons", str(tmp_path / "again.asc"))
    gpg_conf = shutil.which("gpgconf")
    if gpg_conf:
        subprocess.run([gpg_conf, "--kill", "all"], env=env, check=False)
