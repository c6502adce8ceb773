"""Ranks that say nothing any more: a finding, because most hangs leave no line. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.diagnosis import processes
from launch.diagnosis.attempt import READY, STOPPING
from launch.diagnosis.capture import Capture, Kind, Source
from launch.watching.phases import Phase, Role, phase_of

if TYPE_CHECKING:
    from launch.diagnosis.lines import Line
    from launch.diagnosis.told import Found

HEADLESS = re.compile(r"in headless mode|headless multiproc executor|'headless': True")
QUIET_S = 120.0
"""How much longer than the last line of any host a log may be silent before that is told."""


@dataclass(frozen=True, slots=True)
class Silent:
    """A host whose log ends. `for_s`: how long before the last line of all, or before it was collected."""

    host: str
    phase: str
    for_s: float | None
    last_line: str
    state: str = ""  # of its processes and GPUs, where that was seen

    @property
    def sentence(self) -> str:
        time = "" if self.for_s is None else f" for {self.for_s:.0f} s"
        return f"{self.host} is silent{time} in the phase: {self.phase}" + (f" ({self.state})" if self.state else "")


def silent_hosts(capture: Capture, sources: Sequence[Source], founds: Sequence[Found]) -> tuple[Silent, ...]:
    """The hosts whose engine logs stopped without an error, the longest silence first."""
    logs = [one for one in sources if one.kind is Kind.LOG and one.host and one.lines]
    end = now(capture, sources)
    served = any(READY.search(line.text) for one in logs for line in one.lines)
    telling = {one.host for one in founds if one.role in {"cause", "symptom", "consequence", "wrapper"}}
    found = []
    for host in dict.fromkeys(one.host for one in logs):
        own = [one for one in logs if one.host == host]
        last = max((one.lines[-1] for one in own), key=lambda line: (line.at is not None, line.at or 0.0))
        silence = None if end is None or last.at is None else end - last.at
        if host in telling or silence is None or silence < QUIET_S or _was_stopped(own):
            continue
        if served and any(is_headless(one.lines) for one in own):  # its head was ready, so it was, and says no more
            continue
        phase = phase_of((line.raw for one in own for line in one.lines), Role.SERVING).phase
        if phase is not Phase.READY:
            found.append(Silent(host, str(phase), silence, last.raw.strip()[:300], _state(capture, host)))
    return tuple(sorted(found, key=lambda one: (-(one.for_s or 0.0), one.host)))


def now(capture: Capture, sources: Sequence[Source]) -> float | None:
    """When it was captured; where nothing tells, the last line of any host's log."""
    ends = [line.at for one in sources if one.kind is Kind.LOG for line in one.lines[-1:] if line.at is not None]
    return capture.at if capture.at is not None else max(ends, default=None)


def is_headless(lines: Iterable[Line]) -> bool:
    """Whether it has engines and no server of its own."""
    return any(HEADLESS.search(one.text) for one in lines)


def _was_stopped(logs: Sequence[Source]) -> bool:
    return any(STOPPING.search(line.text) for one in logs for line in one.lines)


def _state(capture: Capture, host: str) -> str:
    """What its processes do, and who holds memory of its GPUs."""
    held = [f"pid {pid} holds {memory}" for pid, memory in processes.gpu_owners(capture, host)]
    return "; ".join(filter(None, (processes.at_work(capture, host), ", ".join(held[:8]))))
