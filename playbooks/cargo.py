"""Files that the control machine gives to hosts: what they are, where they come from, where they are put. Pure.

A host never takes them on trust: each has its size and sha256 in the plan, and the step that they belong to reads them
all before it counts as done.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+!-]*")


@dataclass(frozen=True, slots=True)
class CargoFile:
    """One file. `origin`: where the control machine has it from, a URL or an absolute path there."""

    name: str
    size: int  # bytes
    sha256: str
    origin: str


@dataclass(frozen=True, slots=True)
class Cargo:
    """Files for `folder` (absolute, on the host); `incoming` is where they lie until all are there and verified.

    `addresses`: (host, IP address) at which other hosts may fetch from it. `proxy`, `no_proxy`: of the control
    machine's own download.
    """

    folder: str
    incoming: str
    files: tuple[CargoFile, ...]
    addresses: tuple[tuple[str, str], ...] = ()
    proxy: str | None = None
    no_proxy: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(one.size for one in self.files)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of names, sizes and sums: the same files from elsewhere are the same."""
        told = sorted((one.name, one.size, one.sha256) for one in self.files)
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]

    @property
    def manifest(self) -> str:
        """The sums as sha256sum reads them. Raises `ValueError` for a name that is not one of a plain file."""
        for one in self.files:
            if not is_plain(one.name):
                raise ValueError(f"not the name of a file: {one.name!r}")
        return "".join(f"{one.sha256}  {one.name}\n" for one in sorted(self.files, key=lambda file: file.name))


def is_plain(name: str) -> bool:
    """Whether `name` is that of a file in a folder, and nothing that a shell, a URL or sha256sum reads otherwise."""
    return (
        bool(name) and name[0] not in ".-" and all(one.isascii() and (one.isalnum() or one in "._+-!") for one in name)
    )
