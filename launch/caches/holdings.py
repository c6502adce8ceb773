"""The caches of builds that a host holds, who needs them, and which may go. Pure.

A folder serves one build: what no stored generation names is of use only to a deploy to come, and of those the newest
of an environment that is still there is the likely one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inventory.quoting import quote, quote_all
from inventory.recorded import PROCESS_FUNCTIONS
from launch.weights.holdings import HOLDINGS, by_path, keeping_all, rows_of

CACHES_HELD = Path(__file__).parents[1] / "programs" / "caches_held.sh"
STAMP = re.compile(r"[0-9a-f]{12}")
SPARE = 2
"""So many that nothing needs stay after a run that changed something; `weights.gc` leaves none."""
WORDS = {"type": 1, "stamp": 4, "used": 3, "blind": 1}


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """`<state_dir>/caches/<stamp>`, with what is staged for it and what was put out of its way.

    `changed_at` in seconds since 1970. `environment`: the digest of the engine's, empty where that is gone, or an image
    has the engine. `used_by`: generations that are stored, `deployment/generation`.
    """

    host: str
    stamp: str
    bytes: int
    changed_at: int
    environment: str = ""
    used_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CachesHeld:
    """All that one host holds. `blind`: what it could not read."""

    host: str
    folders: tuple[CacheFolder, ...] = ()
    file_system: str = ""
    blind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CacheVerdict:
    """Of one folder: whether it may go, and why not. `reasons` is empty where it may."""

    folder: CacheFolder
    reasons: tuple[str, ...] = ()

    @property
    def may_go(self) -> bool:
        return not self.reasons


def caches_script(*, state_dir: str) -> str:
    """POSIX sh."""
    pieces = [PROCESS_FUNCTIONS, f"state_dir={quote(state_dir)}", *(one.read_text("utf-8") for one in _FILES)]
    return "\n".join([*pieces, "tell_caches\n"])


_FILES = (HOLDINGS, CACHES_HELD)


def read_caches(host: str, answer: str) -> CachesHeld:
    """Read the answer of `caches_script`. Raises `ValueError` for a line that is none of its own."""
    told = rows_of(answer, WORDS, "caches")
    if strange := [stamp for stamp, *_ in told.get("stamp", ()) if not STAMP.fullmatch(stamp)]:
        raise ValueError(f"not a line of caches: stamp {strange[0][:80]!r}")
    used = {path.rpartition("/")[2]: users for path, users in by_path(told.get("used", ())).items()}
    folders = tuple(
        CacheFolder(host, stamp, int(size), int(at), "" if environment == "-" else environment, used.get(stamp, ()))
        for stamp, size, at, environment in told.get("stamp", ())
    )
    kind = next((words[0] for words in told.get("type", ())), "")
    return CachesHeld(host, folders, kind, tuple(words[0] for words in told.get("blind", ())))


def judged_caches(held: CachesHeld, *, spare: int = 0) -> tuple[CacheVerdict, ...]:
    """What may go, the newest first: what no stored generation names, but for the newest of an environment.

    `spare`: so many more stay, the newest. Where anything is not known nothing may go.
    """
    general = keeping_all(held.blind, held.file_system)
    newest_first = sorted(held.folders, key=lambda one: (-one.changed_at, one.stamp))
    verdicts: list[CacheVerdict] = []
    environments: set[str] = {""}
    for one in newest_first:
        reasons = (*general, *(f"{user} needs it" for user in one.used_by))
        if one.environment not in environments:
            environments.add(one.environment)
            reasons += (f"the newest of environment {one.environment}",)
        if not reasons and spare > 0:
            spare -= 1
            reasons = ("one of the newest",)
        verdicts.append(CacheVerdict(one, reasons))
    return tuple(verdicts)


def remove_caches_script(stamps: Sequence[str], *, state_dir: str) -> str:
    """Remove folders, each at once for whoever looks. Prints `gone STAMP` for each."""
    left = "rm -rf -- .going-*"  # by a run that was cut off
    lines = [f"cd -- {quote(f'{state_dir}/caches')} || exit 1", left]
    for stamp in stamps:
        if not STAMP.fullmatch(stamp):
            raise ValueError(f"not a stamp of caches: {stamp!r}")
        beside = quote_all(
            [f"{place}{stamp}" for place in (".staged/", ".poisoned/", ".share-", ".incoming-", ".going-")]
        )
        away = f"if [ -e {stamp} ]; then mv -T -- {stamp} .going-{stamp}; fi"
        lines.append(f"{away} && rm -rf -- {beside} && printf 'gone %s\\n' {stamp}")
    return "\n".join(lines) + "\n"
