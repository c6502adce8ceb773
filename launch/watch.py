"""Watch all ranks of a gang until every one is ready, one has failed, or the time is up.

Each look is one script per host: the state of its processes and what its log has gained. What the log lines mean is
decided in `phases.py`; who failed first, here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.errors import BringupError, NotServing
from inventory.transport.exchange import in_time
from launch.phases import Phase, Progress, Role
from launch.supervise import Look, look_script, read_look

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.caches.hits import CacheHits
    from launch.generation import Generation

LOOK_DEADLINE_S = 20.0
PAUSE_S = 0.5
TAIL_LINES = 15

_PROGRESS_BAR = re.compile(r"\d+%.*\d+/\d+ \[")

Told = Callable[[str, str], None]
"""Called with a host and one sentence whenever its ranks have come to another phase."""


@dataclass(slots=True)
class Watched:
    """One host under watch: how far its log was read, what that says, and when its phase last changed."""

    progress: Progress
    offset: int = 0
    rest: bytes = b""
    tail: list[str] = field(default_factory=list)

    def take(self, look: Look) -> None:
        self.offset += len(look.piece)
        *lines, self.rest = (self.rest + look.piece).split(b"\n")
        texts = [line.decode(errors="replace") for line in lines]
        self.tail = [*self.tail, *(text for text in texts if not _PROGRESS_BAR.search(text))][-TAIL_LINES:]
        for text in texts:
            self.progress.feed(text)


@dataclass(frozen=True, slots=True)
class Ready:
    """What the logs of a gang that came up say. `kv_cache_tokens` and their lines by host, where vLLM printed them."""

    seconds: float
    kv_cache_tokens: Mapping[str, int]
    decided_by: Mapping[str, str]
    """The log line that made each host ready."""
    kv_cache_lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cache_hits: Mapping[str, CacheHits] = field(default_factory=dict)


def watch(fleet: Fleet, gang: Generation, *, timeout_s: float, told: Told) -> Ready:
    """Return when every host is ready. Raises `NotServing` with the first failing host's last lines."""
    watched = {one.host: Watched(Progress(Role.SERVING if one.url else Role.HEADLESS)) for one in gang.members}
    began = time.monotonic()
    while True:
        looks = _look(fleet, watched, gang.name)
        for host, look in looks.items():
            before = watched[host].progress.phase
            watched[host].take(look)
            if watched[host].progress.phase is not before:
                told(host, watched[host].progress.sentence)
        failed = [host for host, look in looks.items() if _has_failed(watched[host], look)]
        if failed:
            raise _failure(gang.name, failed, watched, looks)
        if all(watched[host].progress.phase is Phase.READY for host in _telling(gang)):
            return Ready(
                seconds=time.monotonic() - began,
                kv_cache_tokens={h: t for h, w in watched.items() if (t := w.progress.kv_cache_tokens)},
                decided_by={host: one.progress.line for host, one in watched.items()},
                kv_cache_lines={h: lines for h, w in watched.items() if (lines := w.progress.kv_cache_lines)},
                cache_hits={h: w.progress.hits for h, w in watched.items()},
            )
        if time.monotonic() - began > timeout_s:
            raise _too_late(gang.name, watched, timeout_s)
        time.sleep(PAUSE_S)


def _telling(gang: Generation) -> list[str]:
    """The hosts that tell when they are ready.

    One with workers of the head's rank only never does, and the head cannot be ready without them.
    """
    return [one.host for one in gang.members if one.ranks]


def _look(fleet: Fleet, watched: Mapping[str, Watched], name: str) -> dict[str, Look]:
    def one(transport: Transport) -> Look:
        script = look_script(name, watched[transport.host].offset, state_dir=fleet.state_dirs[transport.host])
        return read_look(in_time(transport.run(script, timeout=LOOK_DEADLINE_S), transport.host).stdout)

    looks = fleet.each(one, tuple(watched))
    lost = [outcome for outcome in looks.values() if isinstance(outcome, BringupError)]
    if lost:
        raise lost[0]
    return {host: look for host, look in looks.items() if isinstance(look, Look)}


def _has_failed(watched: Watched, look: Look) -> bool:
    return watched.progress.phase is Phase.FAILED or look.ranks.state != "running"


def _failure(name: str, failed: Sequence[str], watched: Mapping[str, Watched], looks: Mapping[str, Look]) -> NotServing:
    """Name the first cause: a host whose own log tells an error, before one that merely ended."""
    host = min(failed, key=lambda one: (watched[one].progress.error is None, failed.index(one)))
    error = watched[host].progress.error
    return NotServing(
        f"the ranks of {host} failed: {error or 'they ended without a word of why'}",
        id="rank-failed",
        observed=f"ranks {looks[host].ranks.state}; last lines of the log:\n    " + "\n    ".join(watched[host].tail),
        required="all ranks running and ready",
        next_command=f"invoke logs --hosts {host} --name {name} --lines 200",
        host=host,
    )


def _too_late(name: str, watched: Mapping[str, Watched], timeout_s: float) -> NotServing:
    """The host that is least far is where the others wait: name it."""
    host = min(watched, key=lambda one: watched[one].progress.phase.order)
    phases = "; ".join(f"{one}: {w.progress.sentence}" for one, w in watched.items())
    return NotServing(
        f"not ready after {timeout_s:g} s: {host} is least far ({watched[host].progress.sentence})",
        id="never-ready",
        observed=f"{phases}; last lines of {host}:\n    " + "\n    ".join(watched[host].tail),
        required="every rank's own ready line",
        next_command=f"invoke logs --hosts {host} --name {name} --lines 200",
        host=host,
    )
