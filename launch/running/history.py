"""What was done with a deployment: who, when, to which generation, with what outcome and on what ground.

Every verb that changes a deployment leaves a line on every host: deployments/<name>/history. The host itself adds what
kernel, boot and driver it had then, so that a later look can say what is different. Nothing is kept on the control
machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.quoting import quote_all
from launch.running.supervise import preamble

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport
    from playbooks.lock import Owner

SERVING, STOPPED = "serving", "stopped"
"""Outcomes; any other is the id of the error that ended it."""
DEADLINE_S = 15.0
NOW = "now"


@dataclass(frozen=True, slots=True)
class Ground:
    """What a host stood on: kernel release, boot id, version of the GPU driver; empty where nobody told."""

    kernel: str = ""
    boot: str = ""
    driver: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was done. `at`: ISO 8601, UTC. `phases`: seconds that each phase of this host's start took.

    `warm`: the start found its compiled kernels; None: the log does not tell. `ready_s`: from the start to ready.
    """

    at: str
    who: str
    run: str
    verb: str
    generation: str
    outcome: str
    ready_s: float | None = None
    warm: bool | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    ground: Ground = field(default_factory=Ground)

    def to_line(self) -> str:
        """One line of JSON, without the ground: the host adds it."""
        told = asdict(self)
        del told["ground"]
        return json.dumps(told, ensure_ascii=True)


@dataclass(frozen=True, slots=True)
class History:
    """What one host remembers of a deployment, the oldest first, and the ground that it stands on now."""

    entries: tuple[Entry, ...] = ()
    ground: Ground = field(default_factory=Ground)


def read_history(text: str) -> History:
    """Read what `tell_history` prints; lines that are not ours are passed over."""
    entries, now = [], Ground()
    for line in text.splitlines():
        told, *ground = line.split("\t")
        stood = Ground(*(part if part != "-" else "" for part in ground)) if len(ground) == 3 else Ground()
        if told == NOW:
            now = stood
        elif entry := _entry(told, stood):
            entries.append(entry)
    return History(tuple(entries), now)


def _entry(line: str, ground: Ground) -> Entry | None:
    """Whoever can write on a host can write this file: only what has the right types is believed."""
    try:
        told = json.loads(line)
        words = {key: str(told[key]) for key in ("at", "who", "run", "verb", "generation", "outcome")}
        ready, warm = told.get("ready_s"), told.get("warm")
        return Entry(
            **words,
            ready_s=float(ready) if ready is not None else None,
            warm=warm if isinstance(warm, bool) else None,
            phases={str(phase): float(seconds) for phase, seconds in dict(told.get("phases") or {}).items()},
            note=str(told.get("note", "")),
            ground=ground,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def history_script(name: str, *, state_dir: str) -> str:
    return f"{preamble(state_dir)}\ntell_history {quote_all([name])}\n"


def keep_script(name: str, entry: Entry, *, state_dir: str) -> str:
    return f"{preamble(state_dir)}\nkeep_history {quote_all([name, entry.to_line()])}\n"


def served_script(name: str, entry: Entry, *, state_dir: str) -> str:
    return f"{preamble(state_dir)}\nkeep_served {quote_all([name, entry.generation, entry.to_line()])}\n"


def keep_served(fleet: Fleet, name: str, hosts: Sequence[str], entry: Entry) -> None:
    """Leave the entry where it is not known yet that its generation has served: somebody else began it, mostly."""

    def one(transport: Transport) -> Completed:
        script = served_script(name, entry, state_dir=fleet.state_dirs[transport.host])
        return transport.run(script, timeout=DEADLINE_S)

    fleet.each(one, hosts)  # what is forgotten is only what to go back to


def keep(fleet: Fleet, name: str, entries: Mapping[str, Entry]) -> tuple[str, ...]:
    """Leave the entry of each host there; the hosts that could not keep it are returned. Nothing fails for it."""

    def one(transport: Transport) -> Completed:
        state_dir = fleet.state_dirs[transport.host]
        return transport.run(keep_script(name, entries[transport.host], state_dir=state_dir), timeout=DEADLINE_S)

    outcomes = fleet.each(one, tuple(entries))
    return tuple(host for host, told in outcomes.items() if isinstance(told, BringupError) or told.exit_status != 0)


def entry_of(owner: Owner, at: str, verb: str, generation: str, outcome: str, *, note: str = "") -> Entry:
    """What `owner` did, without the times of a start."""
    return Entry(at, f"{owner.user}@{owner.control}", owner.run, verb, generation, outcome, note=note)


def united(histories: Mapping[str, History]) -> tuple[Entry, ...]:
    """What all hosts remember, each run once, the oldest first. The worst of its hosts' outcomes counts."""
    by_run: dict[tuple[str, str], Entry] = {}
    for history in histories.values():
        for entry in history.entries:
            known = by_run.get((entry.run, entry.verb))
            if known is None or (known.outcome in {SERVING, STOPPED} and entry.outcome not in {SERVING, STOPPED}):
                by_run[entry.run, entry.verb] = entry
    return tuple(sorted(by_run.values(), key=lambda one: (one.at, one.run)))


def last_good(entries: Sequence[Entry], *, besides: str = "") -> Entry | None:
    """The newest start that served, of another generation than `besides`."""
    good = (one for one in reversed(entries) if one.outcome == SERVING and one.generation != besides)
    return next(good, None)


def ground_since(history: History) -> tuple[str, ...]:
    """What this host stands on now that is different from when it last served, in words; a reboot is one of them."""
    served = last_good(history.entries)
    if served is None:
        return ()
    then, now = served.ground, history.ground
    pairs = (("kernel", then.kernel, now.kernel), ("driver", then.driver, now.driver))
    changed = [f"{what} was {old}, is {new}" for what, old, new in pairs if old and new and old != new]
    rebooted = [f"rebooted since {served.at}"] if then.boot and now.boot and then.boot != now.boot else []
    return (*rebooted, *changed)


def starts(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Those that came to ready and say how long it took, the newest first."""
    return tuple(one for one in reversed(tuple(entries)) if one.outcome == SERVING and one.ready_s is not None)


def usual(entries: Sequence[Entry], generation: str) -> dict[str, Entry]:
    """The last cold and the last warm start that are known: of this generation, else of any other.

    Absent where there was none.
    """
    known = starts(entries)
    own = [one for one in known if one.generation == generation]
    found = {}
    for kind, is_warm in (("cold", False), ("warm", True)):
        one = next((one for one in (*own, *known) if one.warm is is_warm), None)
        if one is not None:
            found[kind] = one
    if not found and (own or known):
        found["last"] = (own or list(known))[0]
    return found
