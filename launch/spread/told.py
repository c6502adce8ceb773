"""What the program on a host says of itself, read. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from launch.spread.scripts import GONE


@dataclass(frozen=True, slots=True)
class BadPiece:
    """A piece of `path` that `peer` gave with other bytes than its sum says; -1: the whole file had another sum."""

    peer: str
    path: str
    piece: int


@dataclass(frozen=True, slots=True)
class Told:
    """How far one host is. `verified`: bytes that had their sums; `sealed`: all, and the manifest is written."""

    port: int = 0
    verified: int = 0
    files: int = 0
    sealed: bool = False
    cpu_s: float = 0.0  # of its process
    alive: bool = True
    received: Mapping[str, int] = field(default_factory=dict)  # bytes by peer
    sent: Mapping[str, int] = field(default_factory=dict)
    bad: tuple[BadPiece, ...] = ()
    bad_here: tuple[str, ...] = ()
    failed: tuple[str, str] | None = None  # id, what was observed


def read_told(answer: str) -> Told:
    """Read the answer of `look_script` or of `begin_script`; what is none is a host that says nothing."""
    lines = answer.splitlines()
    alive = GONE not in lines
    for line in lines:
        if line.startswith("{"):
            try:
                return _told(json.loads(line), alive=alive)
            except (ValueError, KeyError, TypeError, AttributeError):
                break
    return Told(alive=alive)


def _told(said: Mapping[str, Any], *, alive: bool) -> Told:
    failed = said["failed"]
    return Told(
        port=int(said["port"]),
        verified=int(said["bytes"]),
        files=int(said["files"]),
        sealed=said["sealed"] is True,
        cpu_s=float(said["cpu_s"]),
        alive=alive,
        received={str(peer): int(size) for peer, size in said["received"].items()},
        sent={str(peer): int(size) for peer, size in said["sent"].items()},
        bad=tuple(BadPiece(str(one["peer"]), str(one["path"]), int(one["piece"])) for one in said["bad"]),
        bad_here=tuple(map(str, said["bad_here"])),
        failed=(str(failed["id"]), str(failed["observed"])) if failed else None,
    )
