"""NCCL in the environments of bringup: its version by the wheel's folder, its digest by the wheel's own record."""

from __future__ import annotations

import base64
import re

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import Nccl

WHEEL = re.compile(
    r"(?m)^wheel (\S*/envs/([^/\s]+)/\S*/site-packages)/nvidia_(nccl|nvshmem)_\w+?-(\d[^/\s]*)\.dist-info/RECORD$"
)
SIZE = re.compile(r"(?m)^size (\d{1,15}) (\S+)$")
RECORD = re.compile(r"(?m)^(\S+/site-packages)/nvidia_nccl_[^/\s]+/RECORD:(\S+?),sha256=([\w-]{43}),(\d*)$")
LIBRARY = "nvidia/nccl/lib/libnccl.so.2"
LOADED = re.compile(r"(?m)^path=(\S+) version=(\S+) sha256=([0-9a-f]{64})$")


def read_nccl(answers: Answers) -> Maybe[tuple[Nccl, ...]]:
    item = answers.item("driver.nccl")
    return item if isinstance(item, Unknown) else parse_nccl(item.text)


def parse_nccl(text: str) -> tuple[Nccl, ...]:
    """One for each environment that has NCCL."""
    wheels = {(folder, kind): (digest, version) for folder, digest, kind, version in WHEEL.findall(text)}
    sizes = {path: int(size) for size, path in SIZE.findall(text)}
    digests = {folder: hexadecimal(digest) for folder, _, digest, _ in RECORD.findall(text)}
    return tuple(
        Nccl(
            environment=digest,
            path=f"{folder}/{LIBRARY}",
            version=version,
            sha256=digests.get(folder, ""),
            bytes=sizes.get(f"{folder}/{LIBRARY}"),
            nvshmem=wheels.get((folder, "nvshmem"), ("", None))[1],
        )
        for (folder, kind), (digest, version) in wheels.items()
        if kind == "nccl"
    )


def hexadecimal(digest: str) -> str:
    """Of the base64 that a wheel's record has."""
    try:
        return base64.urlsafe_b64decode(digest + "=").hex()
    except ValueError:
        return ""


def parse_identity(text: str) -> Maybe[tuple[Nccl, ...]]:
    """What `sha256sum` and the file's name tell of a library: `SHA256  /.../libnccl.so.2.27.5`, or key=value words."""
    words = dict(re.findall(r"(?m)\b(path|version|sha256)\s*[=:]\s*(\S+)", text))
    digest = words.get("sha256") or next(iter(re.findall(r"\b[0-9a-f]{64}\b", text)), "")
    path = words.get("path") or next(iter(re.findall(r"/\S*libnccl\.so\S*", text)), "")
    named = re.search(r"\bnccl\S*?(\d+\.\d+\.\d+)", text, re.IGNORECASE) or re.search(r"\b(\d+\.\d+\.\d+)\b", text)
    version = words.get("version") or (named[1] if named else "")
    if not (digest or version):
        return Unknown(Why.UNREADABLE, "neither a version nor a digest of libnccl")
    return (Nccl("", path, version, digest, None),)
