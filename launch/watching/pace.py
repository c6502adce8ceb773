"""How long a phase of a start takes, and how long it may stand still before that is a failure. Pure.

The usual times come from earlier starts that the hosts remember; nothing is assumed where there was none. To stand
still is: no other phase, no other percentage, and for phases that compute no CPU time and no line of the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from launch.running.history import Entry, usual
from launch.watching.phases import Phase

SILENT_S = 45.0
"""So long without a line or a step a host is told of as silent; again each time when it has doubled."""
IDLE_CORES = 0.05
"""Fewer cores than this, over all processes of the ranks, are nobody who works."""

# Seconds that a phase may stand still. Joining: followers give up after a fixed 5 minutes (vllm/v1/engine/core.py), so
# what has not happened a while later never will. The others are several times what large models took in the field.
STILL_S: Mapping[Phase, float] = MappingProxyType(
    {
        Phase.UP: 300.0,
        Phase.CONFIGURED: 300.0,
        Phase.JOINING: 420.0,
        Phase.ENGINE: 600.0,
        Phase.LOADING: 900.0,
        Phase.COMPILING: 1800.0,
        Phase.CACHE: 900.0,
        Phase.AUTOTUNING: 1800.0,
        Phase.CAPTURING: 900.0,
    }
)
"""WAITING has none: it ends with the host that others wait for, which has its own."""
WAITS = frozenset({Phase.JOINING, Phase.WAITING})
"""Phases in which lines of the log are no progress: they only say that it still waits."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds that phases of a host took in earlier starts, cold and warm apart; empty where there was none."""

    cold: Mapping[str, float] = field(default_factory=dict)
    warm: Mapping[str, float] = field(default_factory=dict)
    last: Mapping[str, float] = field(default_factory=dict)  # of a start of which nobody knows which it was

    def expected(self, phase: Phase) -> str:
        """`warm 12 s, cold 95 s`: of this phase, as far as it is known; else empty."""
        told = {"warm": self.warm, "cold": self.cold, "last time": self.last}
        return ", ".join(f"{kind} {times[phase.value]:.0f} s" for kind, times in told.items() if phase.value in times)

    def still_s(self, phase: Phase) -> float | None:
        """How long the phase may stand still; longer where an earlier start took long. None: for ever."""
        if phase not in STILL_S:
            return None
        known = [times[phase.value] for times in (self.cold, self.warm, self.last) if phase.value in times]
        return max(STILL_S[phase], *(3 * one for one in known)) if known else STILL_S[phase]


def pace_of(entries: Sequence[Entry], generation: str) -> Pace:
    """What one host remembers of how long its phases took."""
    known = usual(entries, generation)
    return Pace(**{kind: entry.phases for kind, entry in known.items()})


@dataclass(slots=True)
class Movement:
    """When a host last moved, and what its processes compute. Fed with each look; times are any one clock's seconds."""

    moved_at: float
    heard_at: float
    told_s: float = 0.0  # of silence that was told of
    cores: float | None = None
    gpus: str = ""
    _ticks: tuple[float, float] | None = None

    def step(self, at: float) -> None:
        """It came to another phase or percentage."""
        self.moved_at = self.heard_at = at
        self.told_s = 0.0

    def line(self, at: float, phase: Phase) -> None:
        """Its log has grown."""
        self.heard_at = at
        if phase not in WAITS:
            self.moved_at = at
            self.told_s = 0.0

    def aged(self, at: float, log_age_s: float | None) -> None:
        """The host says how old its last line is: an earlier run may have watched before us."""
        if log_age_s is not None:
            self.heard_at = min(self.heard_at, at - log_age_s)
            self.moved_at = min(self.moved_at, at - log_age_s)

    def computed(self, at: float, ticks: int, gpus: str, ticks_per_s: float = 100.0) -> None:
        """CPU time of all its processes so far, in ticks of the kernel; GPUs in words."""
        if self._ticks is not None and at - self._ticks[0] > 0.5:
            self.cores = max(0.0, (ticks - self._ticks[1]) / ticks_per_s / (at - self._ticks[0]))
            self._ticks = (at, ticks)
        elif self._ticks is None:
            self._ticks = (at, ticks)
        self.gpus = gpus

    def stands_s(self, at: float) -> float:
        return at - self.moved_at

    def is_silent(self, at: float) -> bool:
        """Whether its silence is worth a word now: at first after `SILENT_S`, then each time it has doubled."""
        return self.stands_s(at) >= max(SILENT_S, 2 * self.told_s)

    def stuck(self, at: float, phase: Phase, pace: Pace) -> bool:
        """It has stood still for longer than its phase may, and nothing computes. Unknown CPU time is no proof."""
        limit = pace.still_s(phase)
        if limit is None or self.stands_s(at) < limit:
            return False
        return phase in WAITS or (self.cores is not None and self.cores < IDLE_CORES)

    def words(self, at: float) -> str:
        """`silent for 90 s; CPU 0.0 cores; GPUs 0: 0 %`."""
        cpu = "CPU time unknown" if self.cores is None else f"CPU {self.cores:.1f} cores"
        gpus = f"; GPUs {self.gpus}" if self.gpus else ""
        return f"no step for {self.stands_s(at):.0f} s, last line {at - self.heard_at:.0f} s ago; {cpu}{gpus}"
