"""Which file system a path lies on. Shared by the storage checks; not a check itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.host import FileSystem, HostFacts
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


NETWORK_TYPES = (
    "nfs",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "cifs",
    "smb",
    "9p",
    "gluster",
    "weka",
    "wekafs",
    "afs",
    "fuse",
)
LOCAL_FUSE = ("fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.portal", "fuseblk")


@dataclass(frozen=True, slots=True)
class Place:
    """What a path lies on. `source` is empty where only the type is known."""

    mount: str
    type: str
    source: str = ""
    options: tuple[str, ...] = ()

    @property
    def is_network(self) -> bool:
        return self.type.startswith(NETWORK_TYPES) and self.type not in LOCAL_FUSE

    def __str__(self) -> str:
        return f"{self.type} ({self.source or self.mount})"


def place_of(facts: HostFacts, path: str) -> Maybe[Place]:
    """What `path` lies on: as `df` said if it was asked for, else by the longest mount above it."""
    mounts = facts.mounts if is_known(facts.mounts) else ()
    asked = holding(facts.file_systems, path) if is_known(facts.file_systems) else None
    above = [one for one in mounts if PurePosixPath(path).is_relative_to(one.point)]
    # Of several on one point the last hides the others.
    nearest = max(reversed(above), key=lambda one: len(PurePosixPath(one.point).parts), default=None)
    if asked and asked.type and (nearest is None or asked.asked == path or asked.mount == nearest.point):
        same = next((one for one in mounts if one.point == asked.mount and one.type == asked.type), None)
        return Place(asked.mount, asked.type, same.source if same else "", same.options if same else ())
    if nearest is not None:
        return Place(nearest.point, nearest.type, nearest.source, nearest.options)
    return facts.mounts if isinstance(facts.mounts, Unknown) else Unknown(Why.EMPTY, f"no mount above {path}")
