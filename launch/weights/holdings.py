"""What a host holds of weights: folders, who needs them, and what keeps them from going. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inventory.quoting import quote
from inventory.recorded import PROCESS_FUNCTIONS

HOLDINGS = Path(__file__).parents[1] / "programs" / "holdings.sh"
NETWORK = ("nfs", "smb", "cifs", "lustre", "gpfs", "ceph", "fuse", "beegfs", "v9fs")
"""How `stat -f` names what other hosts may read too."""


@dataclass(frozen=True, slots=True)
class Holding:
    """`<state_dir>/weights/<org>--<repo>/<commit>`. Times in seconds since 1970 by the host's clock, None: never.

    `sealed_at`: every file had been read and listed then. `digests_at`: all were read again. `used_by`: generations
    that are stored, `deployment/generation`. `busy`: why it may be in use right now.
    """

    host: str
    path: str
    bytes: int
    sealed_at: int | None
    digests_at: int | None
    now: int
    used_by: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()

    @property
    def repo(self) -> str:
        return self.path.rsplit("/", 2)[1].replace("--", "/", 1)

    @property
    def commit(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def verified_at(self) -> int | None:
        """When all of it was last read and had its sums."""
        times = [one for one in (self.sealed_at, self.digests_at) if one is not None]
        return max(times, default=None) if self.sealed_at is not None else None


@dataclass(frozen=True, slots=True)
class Held:
    """All that one host holds. `links`: from a path to another below `weights`. `blind`: what it could not read."""

    host: str
    holdings: tuple[Holding, ...] = ()
    file_system: str = ""
    links: tuple[tuple[str, str], ...] = ()
    blind: tuple[str, ...] = ()

    @property
    def is_shared(self) -> bool:
        return is_shared(self.file_system)


def holdings_script(*, state_dir: str) -> str:
    """POSIX sh."""
    return f"{PROCESS_FUNCTIONS}\nstate_dir={quote(state_dir)}\n{HOLDINGS.read_text(encoding='utf-8')}\ntell_holdings\n"


def read_holdings(host: str, answer: str) -> Held:
    """Read the answer of `holdings_script`. Raises `ValueError` for a line that is none of its own."""
    told = rows_of(answer, WORDS, "holdings")
    used, busy = by_path(told.get("used", ())), by_path(told.get("busy", ()))
    return Held(
        host,
        tuple(
            Holding(
                host, path, int(size), _time(sealed), _time(digests), int(now), used.get(path, ()), busy.get(path, ())
            )
            for path, size, sealed, digests, now in told.get("folder", ())
        ),
        next((words[0] for words in told.get("type", ())), ""),
        tuple((link, target) for link, target in told.get("link", ())),
        tuple(words[0] for words in told.get("blind", ())),
    )


WORDS = {"type": 1, "folder": 5, "used": 3, "link": 2, "busy": 2, "blind": 1}


def rows_of(answer: str, kinds: Mapping[str, int], what: str) -> dict[str, list[list[str]]]:
    """The words of each line by its kind, which has as many as `kinds` says. Raises `ValueError` for another line."""
    told: dict[str, list[list[str]]] = {}
    for line in answer.splitlines():
        kind, *words = line.split("\t")
        if len(words) != kinds.get(kind):
            raise ValueError(f"not a line of {what}: {line[:80]!r}")
        told.setdefault(kind, []).append(words)
    return told


def by_path(rows: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path, *words in rows:
        found[path] = (*found.get(path, ()), "/".join(words))
    return found


def _time(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one folder: whether it may go, and why not. `reasons` is empty where it may."""

    holding: Holding
    reasons: tuple[str, ...] = field(default=())

    @property
    def may_go(self) -> bool:
        return not self.reasons


def judged(held: Held) -> tuple[Verdict, ...]:
    """What of a host's weights may go: what no stored generation names, nothing writes to, and no link leads into.

    Where anything is not known nothing may: a folder too many costs a disk, one too few an outage.
    """
    general = keeping_all(held.blind, held.file_system)
    verdicts = [Verdict(one, (*general, *_needed(one))) for one in held.holdings]
    return tuple(_with_links(verdicts, held.links))


def keeping_all(blind: Sequence[str], file_system: str) -> tuple[str, ...]:
    """Why nothing may go, whatever it is."""
    unread = (f"{what} cannot be read: nobody knows what needs it" for what in blind)
    shared = (f"on {file_system}: other hosts may read the same files",) if is_shared(file_system) else ()
    return (*unread, *shared)


def is_shared(file_system: str) -> bool:
    """Whether other hosts may read the same files."""
    return file_system.startswith(NETWORK)


def _needed(one: Holding) -> list[str]:
    return [*(f"{user} needs it" for user in one.used_by), *one.busy]


def _with_links(verdicts: Sequence[Verdict], links: Sequence[tuple[str, str]]) -> list[Verdict]:
    """Folders that stay keep those that their links lead into, those of the latter theirs, and so on."""
    known = {one.holding.path: one for one in verdicts}
    leads = {(_folder(link, known), _folder(target, known)) for link, target in links}
    while True:
        more = {
            into: out
            for out, into in leads
            if into and into != out and known[into].may_go and (out is None or not known[out].may_go)
        }
        if not more:
            return list(known.values())
        for into, out in more.items():
            known[into] = Verdict(known[into].holding, (f"a link of {out or 'something else'} leads into it",))


def _folder(path: str, known: Mapping[str, object]) -> str | None:
    return next((folder for folder in known if path == folder or path.startswith(f"{folder}/")), None)


def remove_script(paths: Sequence[str], *, state_dir: str) -> str:
    """Remove folders, each at once for whoever looks. Prints `gone PATH` for each; a path elsewhere is refused."""
    lines = [f"state_dir={quote(state_dir)}"]
    for path in paths:
        if not path.startswith(f"{state_dir}/weights/") or ".." in path.split("/"):
            raise ValueError(f"not a folder of weights: {path!r}")
        away = quote(f"{state_dir}/weights/.going-{path.rpartition('/')[2]}")
        gone = f"rm -rf -- {away} && printf 'gone %s\\n' {quote(path)}"
        lines.append(f"rm -rf -- {away} && mv -T -- {quote(path)} {away} && {gone}")
        lines.append(f'rmdir -- "$(dirname -- {quote(path)})" 2>/dev/null || :')
    return "\n".join(lines) + "\n"
