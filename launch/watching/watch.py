"""Watch all ranks of a gang until every one is ready, one has failed, stands still, or the time is up.

Each look is one script per host: the state of its processes and what its log has gained. What the log lines mean is
decided in `phases.py`, how long a phase may stand still in `watching/pace.py`; who failed first, here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from inventory.errors import BringupError, NotServing
from inventory.quoting import quote
from inventory.transport.exchange import in_time
from launch.building.gang import RUNNING
from launch.running.supervise import Look, look_script, read_look
from launch.watching.event import Event, Row, Shown, Told
from launch.watching.pace import SILENT_S, Movement, Pace
from launch.watching.phases import Phase, Progress, Role

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.building.generation import Generation, Member
    from launch.caches.hits import CacheHits

LOOK_DEADLINE_S = 20.0
PAUSE_S = 0.5
TAIL_LINES = 15
DEEP_AFTER_S = SILENT_S / 3
"""A host that has not moved for so long is asked what it computes."""

_PROGRESS_BAR = re.compile(r"\d+%.*\d+/\d+ \[")


@dataclass(slots=True)
class Watched:
    """One host under watch: how far its log was read, what that says, and when its phase last changed."""

    progress: Progress
    pace: Pace = field(default_factory=Pace)
    began: float = field(default_factory=time.monotonic)
    offset: int = 0
    rest: bytes = b""
    tail: list[str] = field(default_factory=list)
    entered: dict[Phase, float] = field(default_factory=dict)
    movement: Movement = field(default_factory=lambda: Movement(time.monotonic(), time.monotonic()))
    started_at: float | None = None
    log_size: int = 0

    def take(self, look: Look) -> tuple[Phase, int | None]:
        """Read one look; returns the phase and percentage before it."""
        now, before = time.monotonic(), (self.progress.phase, self.progress.percent)
        self.log_size = look.log_size
        if not self.offset:  # the first look: others may have watched before us
            self.movement.aged(now, look.log_age_s)
        if look.started_s is not None:
            self.started_at = now - look.started_s
        self.offset += len(look.piece)
        *lines, self.rest = (self.rest + look.piece).split(b"\n")
        texts = [line.decode(errors="replace") for line in lines]
        self.tail = [*self.tail, *(text for text in texts if not _PROGRESS_BAR.search(text))][-TAIL_LINES:]
        for text in texts:
            self.progress.feed(text)
            self.entered.setdefault(self.progress.phase, now)
        self._move(now, look, before)
        return before

    def _move(self, now: float, look: Look, before: tuple[Phase, int | None]) -> None:
        fresh = look.log_age_s is None or now - look.log_age_s > self.began
        if (self.progress.phase, self.progress.percent) != before and fresh:
            self.movement.step(now)
        elif look.piece and fresh:
            self.movement.line(now, self.progress.phase)
        if look.cpu_ticks is not None:
            self.movement.computed(now, look.cpu_ticks, look.gpus)

    @property
    def is_read(self) -> bool:
        """Whether the whole log has been read."""
        return self.offset >= self.log_size

    def stands_still(self, now: float) -> bool:
        """Whether it has stood still for longer than its phase may."""
        phase = self.progress.phase
        return self.is_read and phase is not Phase.READY and self.movement.stuck(now, phase, self.pace)

    @property
    def phase_s(self) -> float:
        return time.monotonic() - self.entered.get(self.progress.phase, self.began)

    def phases(self) -> dict[str, float]:
        """Seconds that each phase took, up to ready."""
        starts = sorted(self.entered.items(), key=lambda one: one[1])
        return {phase.value: round(after - at, 1) for (phase, at), (_, after) in pairwise(starts)}


@dataclass(frozen=True, slots=True)
class Ready:
    """What the logs of a gang that came up say. `kv_cache_tokens` and their lines by host, where vLLM printed them.

    `phases`: seconds by host and phase. `warm`: kernels were found compiled; None: the logs do not tell.
    """

    seconds: float
    kv_cache_tokens: Mapping[str, int]
    decided_by: Mapping[str, str]
    """The log line that made each host ready."""
    kv_cache_lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    phases: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    warm: bool | None = None
    cache_hits: Mapping[str, CacheHits] = field(default_factory=dict)
    memory_lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def watch(
    fleet: Fleet,
    gang: Generation,
    *,
    timeout_s: float,
    told: Told,
    shown: Shown = lambda _: None,
    paces: Mapping[str, Pace] | None = None,
) -> Ready:
    """Return when every host is ready. Raises `NotServing` with the first failing host's last lines.

    `timeout_s` counts from the start of the ranks. `paces`: how long phases took before, by host. `shown` is called
    with a row for each host after every look.
    """
    known = paces or {}
    watched = {one.host: Watched(Progress(_role(one)), known.get(one.host, Pace())) for one in gang.members}
    began = time.monotonic()
    while True:
        looks = _look(fleet, watched, gang.name)
        for host, look in looks.items():
            _tell(host, watched[host], watched[host].take(look), told, began)
        shown([_row(one, watched[one.host]) for one in gang.members])
        failed = [host for host, look in looks.items() if _has_failed(watched[host], look)]
        if failed:
            raise _failure(gang, failed, watched, looks)
        if all(watched[host].progress.phase is Phase.READY for host in _telling(gang)):
            return _ready(watched, began)
        _refuse_standing_still(gang, watched)
        if _elapsed(watched.values(), began) > timeout_s and all(one.is_read for one in watched.values()):
            raise _too_late(gang, watched, timeout_s)
        time.sleep(PAUSE_S)


def _role(member: Member) -> Role:
    return Role.SERVING if member.url else Role.HEADLESS


def _ready(watched: Mapping[str, Watched], began: float) -> Ready:
    hits = {host: one.progress.hits for host, one in watched.items()}
    warm = [found for one in hits.values() if (found := one.is_warm) is not None]
    return Ready(
        seconds=_elapsed(watched.values(), began),
        kv_cache_tokens={h: t for h, w in watched.items() if (t := w.progress.kv_cache_tokens)},
        decided_by={host: one.progress.line for host, one in watched.items()},
        kv_cache_lines={h: lines for h, w in watched.items() if (lines := w.progress.kv_cache_lines)},
        phases={host: one.phases() for host, one in watched.items()},
        warm=all(warm) if warm else None,
        cache_hits=hits,
        memory_lines={host: tuple(one.progress.memory_lines.values()) for host, one in watched.items()},
    )


def _elapsed(watched: Iterable[Watched], began: float) -> float:
    """Seconds since the last host was started: an earlier run may have done that."""
    now = time.monotonic()
    started = [one.started_at for one in watched if one.started_at is not None]
    return max(now - max(started), now - began) if started else now - began


def _tell(host: str, one: Watched, before: tuple[Phase, int | None], told: Told, began: float) -> None:
    """Say what is new: another phase, another tenth of it, or that nothing is."""
    now, progress = time.monotonic(), one.progress
    expected = one.pace.expected(progress.phase)

    def say(what: str, sentence: str) -> None:
        told(Event(host, what, progress.phase, progress.percent, sentence, round(now - began, 1), expected))  # type: ignore[arg-type]

    if progress.phase is not before[0]:
        say("ready" if progress.phase is Phase.READY else "phase", progress.sentence)
    elif progress.percent is not None and progress.percent // 10 != (before[1] or 0) // 10:
        say("percent", progress.sentence)
    elif progress.phase is not Phase.READY and one.movement.is_silent(now):
        one.movement.told_s = one.movement.stands_s(now)
        say("silent", f"{progress.sentence}: {one.movement.words(now)}")


def _row(member: Member, one: Watched) -> Row:
    ranks = f"{member.start_rank}-{member.start_rank + member.ranks - 1}" if member.ranks else "part of 0"
    now = time.monotonic()
    silent = one.movement.words(now) if one.movement.told_s and one.progress.phase is not Phase.READY else ""
    return Row(member.host, ranks, one.progress.sentence, one.phase_s, one.pace.expected(one.progress.phase), silent)


def _telling(gang: Generation) -> list[str]:
    """The hosts that tell when they are ready.

    One with workers of the head's rank only never does, and the head cannot be ready without them.
    """
    return [one.host for one in gang.members if one.ranks]


def _look(fleet: Fleet, watched: Mapping[str, Watched], name: str) -> dict[str, Look]:
    now = time.monotonic()

    def one(transport: Transport) -> Look:
        seen = watched[transport.host]
        deep = seen.movement.stands_s(now) > DEEP_AFTER_S and seen.progress.phase is not Phase.READY
        script = look_script(name, seen.offset, state_dir=fleet.state_dirs[transport.host], deep=deep)
        return read_look(in_time(transport.run(script, timeout=LOOK_DEADLINE_S), transport.host).stdout)

    looks = fleet.each(one, tuple(watched))
    lost = [outcome for outcome in looks.values() if isinstance(outcome, BringupError)]
    if lost:
        raise lost[0]
    return {host: look for host, look in looks.items() if isinstance(look, Look)}


def _has_failed(watched: Watched, look: Look) -> bool:
    return watched.progress.phase is Phase.FAILED or look.ranks.state != RUNNING


def _failure(
    gang: Generation, failed: Sequence[str], watched: Mapping[str, Watched], looks: Mapping[str, Look]
) -> NotServing:
    """Name the first cause: a host whose own log tells an error, before one that merely ended."""
    host = min(failed, key=lambda one: (watched[one].progress.error is None, failed.index(one)))
    error = watched[host].progress.error
    observed = f"ranks {looks[host].ranks.state}; {last_lines(watched, host)}"
    return rank_failed(gang, host, error or "they ended without a word of why", observed)


def rank_failed(gang: Generation, host: str, why: str, observed: str) -> NotServing:
    return NotServing(
        f"the ranks of {host} failed: {why}",
        id="rank-failed",
        observed=observed,
        required="all ranks running and ready",
        next_command=f"invoke diagnose {gang.flags}",
        host=host,
    )


def last_lines(watched: Mapping[str, Watched], first: str, *, of_others: int = 3) -> str:
    """The last lines of the log of `first`, and a few of each other host: what the others say is a consequence."""
    told = f"last lines of {first}:\n    " + "\n    ".join(watched[first].tail or ["(none)"])
    for host, one in watched.items():
        if host != first:
            told += f"\n  last lines of {host}:\n    " + "\n    ".join(one.tail[-of_others:] or ["(none)"])
    return told


def _refuse_standing_still(gang: Generation, watched: Mapping[str, Watched]) -> None:
    """A phase that does not move and does not compute is over, whatever time is left. Long but moving is not."""
    now = time.monotonic()
    still = [host for host, one in watched.items() if one.stands_still(now)]
    if not still:
        return
    host = min(still, key=lambda name: watched[name].progress.phase.order)
    one = watched[host]
    raise NotServing(
        f"the ranks of {host} stand still in phase {one.progress.sentence!r}",
        id="rank-silent",
        observed=f"{one.movement.words(now)}; {last_lines(watched, host)}",
        required=f"a step within {one.pace.still_s(one.progress.phase):.0f} s",
        next_command=f"invoke diagnose {gang.flags}",
        host=host,
    )


def _too_late(gang: Generation, watched: Mapping[str, Watched], timeout_s: float) -> NotServing:
    """The host that is least far is where the others wait: name it."""
    host = min(watched, key=lambda one: watched[one].progress.phase.order)
    phases = "; ".join(f"{one}: {w.progress.sentence}" for one, w in watched.items())
    return NotServing(
        f"not ready after {timeout_s:g} s: {host} is least far ({watched[host].progress.sentence})",
        id="never-ready",
        observed=f"{phases}; {watched[host].movement.words(time.monotonic())}; {last_lines(watched, host)}",
        required="every rank's own ready line",
        next_command=f"invoke logs --hosts {quote(host)} --name {quote(gang.name)} --lines 200",
        host=host,
    )
