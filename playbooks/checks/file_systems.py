"""Which planned writes land on which file system. Shared by the storage checks; not a check itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from inventory.facts.host import FileSystem
from playbooks.requirements import Space


@dataclass(frozen=True, slots=True)
class Mounts:
    matched: tuple[tuple[FileSystem, tuple[Space, ...]], ...]  # one entry a mount
    unmatched: tuple[Space, ...]


def spaces_by_mount(systems: tuple[FileSystem, ...], spaces: tuple[Space, ...]) -> Mounts:
    """Group `spaces` by mount. The longest path that was asked for and holds `path` tells its file system."""
    by_mount: dict[str, tuple[FileSystem, tuple[Space, ...]]] = {}
    unmatched: list[Space] = []
    for space in spaces:
        system = holding(systems, space.path)
        if system is None:
            unmatched.append(space)
            continue
        first, others = by_mount.get(system.mount, (system, ()))
        by_mount[system.mount] = (first, (*others, space))
    return Mounts(tuple(by_mount.values()), tuple(unmatched))


def holding(systems: tuple[FileSystem, ...], path: str) -> FileSystem | None:
    asked = [one for one in systems if PurePosixPath(path).is_relative_to(one.asked)]
    return max(asked, key=lambda one: len(PurePosixPath(one.asked).parts), default=None)
