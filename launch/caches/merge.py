"""From what each host has compiled to one set that all of them should have: the files of all ranks, or of none. Pure.

vLLM 0.33.0 names what belongs to one rank by its rank within the group and its global data-parallel index
(`rank_0_8`, `dp8_rank0`; compilation/backends.py, compilation/decorators.py, model_executor/warmup). Neither is part of
the key above it, so a set that has every rank's own files serves whichever host the rank is on, and nothing is ever
renamed: whether another rank could use a rank's file is nowhere said in the source, and not assumed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from launch.caches.on_host import KEPT
from playbooks.plan import digest

Rank = tuple[int, int]  # within its group, global data-parallel index

_COMPILED = re.compile(r"^(?P<family>vllm/torch_compile_cache/.+?)/rank_(?P<rank>\d+)_(?P<dp>\d+)/")
_TUNED = re.compile(r"^(?P<family>vllm/flashinfer_autotune_cache/.+)/[^/]*dp(?P<dp>\d+)_rank(?P<rank>\d+)[^/]*$")
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class CacheFile:
    """`path` is below the folder of the stamp; times are kept, because ninja compares them."""

    path: str
    size: int
    modified_ns: int
    sha256: str

    def row(self) -> list[object]:
        """As the program on hosts reads and writes it."""
        return [self.path, self.size, self.modified_ns, self.sha256]


@dataclass(frozen=True, slots=True)
class CacheSet:
    """`sources`: which host gives which file. `uneven`: folders that lack ranks, and which ones; they are left out."""

    sources: Mapping[str, tuple[CacheFile, ...]]
    uneven: tuple[tuple[str, tuple[Rank, ...]], ...] = ()

    @property
    def files(self) -> tuple[CacheFile, ...]:
        return tuple(sorted((one for files in self.sources.values() for one in files), key=lambda one: one.path))

    @property
    def bytes(self) -> int:
        return sum(one.size for one in self.files)

    @property
    def digest(self) -> str:
        return digest([(one.path, one.size, one.sha256) for one in self.files])


def read_listing(text: str) -> tuple[CacheFile, ...]:
    """What `on_host.py list` printed. Raises `ValueError` for anything else: a host must not name another's files."""
    try:
        rows = json.loads(text)["files"]
        files = tuple(CacheFile(str(path), int(size), int(at), str(sha)) for path, size, at, sha in rows)
    except (KeyError, TypeError) as error:
        raise ValueError(str(error)) from error
    for one in files:
        if not _is_a_caches(one.path) or one.size < 0 or not SHA256.fullmatch(one.sha256):
            raise ValueError(f"not a file of a cache: {one.path[:80]!r}")
    if len({one.path for one in files}) != len(files):
        raise ValueError("a file is listed twice")
    return files


def _is_a_caches(path: str) -> bool:
    parts = PurePosixPath(path).parts
    plain = path.isprintable() and str(PurePosixPath(path)) == path and ".." not in parts
    return plain and any(path.startswith(f"{root}/") for root in KEPT)


def rank_of(path: str) -> tuple[str, Rank] | None:
    """The folder that ranks share and the rank that a file belongs to; None: it is nobody's in particular."""
    found = _COMPILED.match(path) or _TUNED.match(path)
    return (found["family"], (int(found["rank"]), int(found["dp"]))) if found else None


def merged(listings: Mapping[str, Iterable[CacheFile]], owners: Mapping[Rank, str]) -> CacheSet:
    """One set of what all hosts listed. `owners`: the host of every rank.

    A rank's files come from its own host; where that has none of a folder, as a host that is new to the gang, from the
    first that has. What belongs to no rank comes from the first host that has it. A folder that lacks a rank is left
    out with everything in it.
    """
    by_host = {host: {one.path: one for one in files} for host, files in listings.items()}
    givers = _givers(by_host, owners)
    families = {family for family, _ in givers}
    lacking = {family: tuple(sorted(rank for rank in owners if (family, rank) not in givers)) for family in families}
    uneven = {family: ranks for family, ranks in lacking.items() if ranks}
    sources: dict[str, dict[str, CacheFile]] = {host: {} for host in listings}
    taken: set[str] = set()
    for host, files in by_host.items():
        for path, one in files.items():
            found = rank_of(path)
            if path not in taken and not _below(path, uneven) and (found is None or givers.get(found) == host):
                taken.add(path)
                sources[host][path] = one
    return CacheSet(
        {host: tuple(files[path] for path in sorted(files)) for host, files in sources.items()},
        tuple(sorted(uneven.items())),
    )


def _givers(by_host: Mapping[str, Mapping[str, CacheFile]], owners: Mapping[Rank, str]) -> dict[tuple[str, Rank], str]:
    """The host that gives what a rank has in a folder, for every rank of the gang."""
    givers: dict[tuple[str, Rank], str] = {}
    for host, files in by_host.items():
        for found in filter(None, map(rank_of, files)):
            if owners.get(found[1]) == host:
                givers[found] = host
            elif found[1] in owners:
                givers.setdefault(found, host)
    return givers


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def lacking(wanted: CacheSet, host: str, there: Iterable[CacheFile], owners: Mapping[Rank, str]) -> list[CacheFile]:
    """The files of the set that `host` must be given.

    Of what belongs to no rank its own are as good: two hosts compile one kernel to different bytes.
    """
    own = {one.path: one.sha256 for one in there}
    return [one for one in wanted.files if _is_lacking(one, host, own.get(one.path), owners)]


def _is_lacking(one: CacheFile, host: str, own: str | None, owners: Mapping[Rank, str]) -> bool:
    found = rank_of(one.path)
    return own is None or (found is not None and own != one.sha256 and owners.get(found[1]) != host)
