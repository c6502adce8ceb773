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


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system, as the kernel lists it; pseudo file systems and those of containers are left out."""

    point: str
    type: str
    source: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredFile:
    path: str  # below the folder
    size: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class WeightFolder:
    """What lies in `<state_dir>/weights/<org>--<repo>/<commit>`, whether or not it is complete. Paths are below it."""

    path: str
    files: tuple[StoredFile, ...]  # links are followed
    partial: tuple[str, ...] = ()  # of a download that has not ended
    unreadable: tuple[str, ...] = ()  # by the login user, links that lead nowhere among them
    outside: tuple[str, ...] = ()  # `link -> target` of links that lead out of the folder
    pointers: tuple[str, ...] = ()  # files of Git LFS where weights should be
    damaged: tuple[str, ...] | None = None  # `file: what its header says`; None: headers were not read
    manifest: tuple[StoredFile, ...] | None = None  # None: not complete, or made without one
    simulated: bool = False  # files of a lab host: only their names and sizes are like a model's


@dataclass(frozen=True, slots=True)
class FileLock:
    """A lock or a partial file below weights or caches. `holder`: a process that holds a lock on it, by pid."""

    path: str
    age_s: int
    size: int
    holder: int | None


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """`<state_dir>/caches/<stamp>`: the caches of one build. `stamp`: what they are made with."""

    path: str
    stamp: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...] | None = None  # of the ranks that made them; None: not told


@dataclass(frozen=True, slots=True)
class Caches:
    """`<state_dir>/caches`. `artefacts`: paths below it of files that belong to one rank each, the first 5000.

    `folders`: of builds that have one of their own. `stamp` and `environment` are of what lies in `caches` itself.
    `kv_memory`: what earlier starts printed of `--kv-cache-memory`: key of the start, GPU, bytes, bytes that were free
    before, workers.
    """

    empty: bool
    artefacts: tuple[str, ...]
    stamp: tuple[tuple[str, str], ...] | None  # what the caches were made with; None: no stamp
    environment: tuple[tuple[str, str], ...] | None = None  # of the ranks that made them; None: not told
    folders: tuple[CacheFolder, ...] = ()
    kv_memory: tuple[tuple[str, str, int, int, int], ...] = ()
