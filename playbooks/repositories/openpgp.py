"""Public keys of OpenPGP (RFC 4880, RFC 9580), as far as pinning needs them: whose they are. Pure.

No signature is checked here: the package manager does that with the key that it is given.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

BEGIN, END = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"
SECRET_KEY, PUBLIC_KEY, SECRET_SUBKEY = 5, 6, 7
MOST_BYTES = 256 * 1024
_BLOCK = re.compile(rf"{BEGIN}\r?\n(.*?){END}", re.DOTALL)


class NoKey(ValueError):
    """What is no public key, with the reason."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """`fingerprints`: of all primary keys in it, upper case. `armored`: the same bytes as text."""

    fingerprints: tuple[str, ...]
    armored: str


def read_key(data: bytes) -> PublicKey:
    """Read a key, armored or not. Raises `NoKey`."""
    if len(data) > MOST_BYTES:
        raise NoKey(f"{len(data)} bytes are no single key")
    binary = _dearmored(data) if data.lstrip().startswith(b"-----") else data
    packets = list(_packets(binary))
    if any(tag in {SECRET_KEY, SECRET_SUBKEY} for tag, _ in packets):
        raise NoKey("it holds a secret key: give the public one alone")
    found = tuple(_fingerprint(body) for tag, body in packets if tag == PUBLIC_KEY)
    if not found:
        raise NoKey("it holds no public key")
    return PublicKey(found, armored(binary))


def armored(binary: bytes) -> str:
    """As text, with its checksum."""
    checksum = base64.b64encode(_crc24(binary).to_bytes(3, "big")).decode()
    lines = base64.encodebytes(binary).decode().replace("\n", "")
    wrapped = "\n".join(lines[start : start + 64] for start in range(0, len(lines), 64))
    return f"{BEGIN}\n\n{wrapped}\n={checksum}\n{END}\n"


def _dearmored(data: bytes) -> bytes:
    """All blocks of the text, one behind the other."""
    blocks = _BLOCK.findall(data.decode("ascii", errors="replace"))
    if not blocks:
        raise NoKey("no block of a public key stands in it")
    return b"".join(_unwrapped(block) for block in blocks)


def _unwrapped(block: str) -> bytes:
    # Headers (`Version: ...`) end with an empty line; the checksum has a line of its own that begins with =.
    lines = [line.strip() for line in block.splitlines()]
    start = lines.index("") + 1 if "" in lines else 0
    text = "".join(line for line in lines[start:] if not line.startswith("="))
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise NoKey(f"its text is damaged: {error}") from None


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and body of each packet."""
    at = 0
    while at < len(data):
        first = data[at]
        if not first & 0x80:
            raise NoKey("it is no OpenPGP data")
        tag, length, at = (_new if first & 0x40 else _old)(data, at)
        if at + length > len(data):
            raise NoKey("it ends in the middle")
        yield tag, data[at : at + length]
        at += length


def _old(data: bytes, at: int) -> tuple[int, int, int]:
    size = {0: 1, 1: 2, 2: 4}.get(data[at] & 3)
    if size is None:
        raise NoKey("a packet without a length is no key's")
    return (data[at] >> 2) & 0xF, int.from_bytes(data[at + 1 : at + 1 + size], "big"), at + 1 + size


def _new(data: bytes, at: int) -> tuple[int, int, int]:
    tag, first = data[at] & 0x3F, data[at + 1] if at + 1 < len(data) else 0
    if first < 192:
        return tag, first, at + 2
    if first < 224:
        second = data[at + 2] if at + 2 < len(data) else 0
        return tag, ((first - 192) << 8) + second + 192, at + 3
    if first == 255:
        return tag, int.from_bytes(data[at + 2 : at + 6], "big"), at + 6
    raise NoKey("a packet in pieces is no key's")


def _fingerprint(body: bytes) -> str:
    version = body[0] if body else 0
    if version == 4:
        # SHA-1 is what the format says; nobody can choose a key for a given one.
        framed = b"\x99" + len(body).to_bytes(2, "big") + body
        return hashlib.sha1(framed, usedforsecurity=False).hexdigest().upper()
    if version == 6:
        return hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper()
    raise NoKey(f"a key of version {version} has no fingerprint that can be pinned")


def _crc24(data: bytes) -> int:
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1864CFB
    return crc
