"""How a prefetch goes on: a line for every host and a total, or events as JSON lines. Readable without a terminal."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launch.console.report import print_json

if TYPE_CHECKING:
    from launch.console.report import Report
    from launch.spread.told import Told
    from playbooks.phase_script import Event
    from playbooks.plan import Change

EVERY_S = 10.0
EVERY_S_TERMINAL = 3.0
WINDOW_S = 60.0
SAID = re.compile(r"(\w+): (\d+) of (\d+) bytes, (\d+) read")


@dataclass(slots=True)
class Meter:
    """Bytes of one host over time. `rate` is of the last minute; None until two readings differ in time."""

    total: int
    there: int = 0
    word: str = ""
    readings: list[tuple[float, int]] = field(default_factory=list)

    def read(self, there: int, now: float) -> None:
        self.there = min(there, self.total)
        self.readings = [*(one for one in self.readings[-60:] if now - one[0] <= WINDOW_S), (now, self.there)]

    @property
    def rate(self) -> float | None:
        (began, first), (ended, last) = (
            self.readings[0] if self.readings else (0.0, 0),
            (self.readings[-1] if self.readings else (0.0, 0)),
        )
        return (last - first) / (ended - began) if ended > began else None

    @property
    def left_s(self) -> float | None:
        return (self.total - self.there) / self.rate if self.rate else None


def words_of(meter: Meter) -> str:
    """`12.3 of 80.0 GB (15 %), 110 MB/s, 10 min left`."""
    share = f" ({100 * meter.there // meter.total} %)" if meter.total else ""
    text = f"{meter.there / 1e9:.2f} of {meter.total / 1e9:.2f} GB{share}"
    if meter.rate:
        text += f", {meter.rate / 1e6:.0f} MB/s"
    return text if meter.left_s is None or meter.there >= meter.total else f"{text}, {duration(meter.left_s)} left"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def read_progress(line: str) -> tuple[str, int, int, int] | None:
    """What a host's program does, bytes that are there, all, and read; None: the line is about something else."""
    found = SAID.fullmatch(line.strip())
    return (found[1], int(found[2]), int(found[3]), int(found[4])) if found else None


class Progress:
    """Hears changes of `apply` and looks of a spread. `json`: events go to stdout, a line each."""

    def __init__(self, report: Report, *, json_lines: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._report, self._json, self._clock = report, json_lines, clock
        self._meters: dict[str, Meter] = {}
        self._lock = threading.Lock()
        self._told = 0.0

    def begin(self, totals: Mapping[str, int], word: str) -> None:
        """From here on hosts bring these numbers of bytes."""
        with self._lock:
            self._meters = {host: Meter(total, word=word) for host, total in totals.items()}
            self._told = self._clock()

    def event(self, change: Change, event: Event) -> None:
        if self._json:
            self.emit("change", host=change.host, change=change.summary, state=str(event))
        else:
            self._report.event(change, event)

    def says(self, change: Change, line: str) -> None:
        if not self.heard(change.host, line) and not self._json:
            self._report.says(change, line)

    def heard(self, host: str, line: str) -> bool:
        """Take a line of a host's program; tell whether it was about how far it is."""
        told = read_progress(line)
        if told is None:
            return False
        word, there, total, verified = told
        self._read(host, verified if word == "verifying" else there, total, word)
        return True

    def sent(self, host: str, there: int) -> None:
        self._read(host, there, self._meters[host].total, "sending")

    def spread(self, told: Mapping[str, Told]) -> None:
        for host, one in told.items():
            if host in self._meters:
                self._read(host, one.verified, self._meters[host].total, "spreading")

    def _read(self, host: str, there: int, total: int, word: str) -> None:
        with self._lock:
            meter = self._meters.setdefault(host, Meter(total))
            if meter.word != word:
                meter.readings.clear()
            meter.total, meter.word = total, word
            meter.read(there, self._clock())
            if self._clock() - self._told < (EVERY_S_TERMINAL if sys.stderr.isatty() else EVERY_S):
                return
            self._told = self._clock()
            self._tell()

    def _tell(self) -> None:
        whole = Meter(sum(one.total for one in self._meters.values()), sum(m.there for m in self._meters.values()))
        rate = sum(one.rate or 0.0 for one in self._meters.values())
        for host, one in self._meters.items():
            if self._json:
                told = {"bytes": one.there, "total": one.total, "rate": one.rate, "left_s": one.left_s}
                self.emit("progress", host=host, doing=one.word, **told)
            else:
                self._report.say(f"  {host}: {one.word} {words_of(one)}")
        if self._json:
            left = (whole.total - whole.there) / rate if rate else None
            self.emit("progress", host=None, bytes=whole.there, total=whole.total, rate=rate or None, left_s=left)
        elif len(self._meters) > 1:
            text = f"  total: {whole.there / 1e9:.2f} of {whole.total / 1e9:.2f} GB, {rate / 1e6:.0f} MB/s"
            self._report.say(text + (f", {duration((whole.total - whole.there) / rate)} left" if rate else ""))

    def emit(self, event: str, **data: object) -> None:
        """One event as a line on stdout, where that was asked for."""
        if self._json:
            print_json("prefetch-event", {"event": event, **data}, line=True)
