"""File systems and block devices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileSystem:
    """The file system that `path` (the deepest existing parent of what was asked for) lies on."""

    asked: str
    mount: str
    type: str
    total_bytes: int
    free_bytes: int
    free_inodes: int | None
    writable: bool


@dataclass(frozen=True, slots=True)
class Block:
    """`size` as printed: bytes, or a rounded text. `rotational` and `file_system` are None where not told.

    `depth` 0: not made of another device that is listed. A device under two parents (a RAID) is listed under each.
    """

    name: str
    type: str  # disk, part, lvm, raid1, loop, rom, ...
    size: int | str
    rotational: bool | None
    file_system: str | None
    depth: int
