"""What happens while a start is watched, for whoever shows it: lines, a table, JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

What = Literal["phase", "percent", "silent", "ready"]


@dataclass(frozen=True, slots=True)
class Event:
    """One host came to a phase, or a percentage of it, or has been silent. `at_s`: since the watch began.

    `expected`: how long the phase took before, in words; empty where nobody knows.
    """

    host: str
    what: What
    phase: str
    percent: int | None
    sentence: str
    at_s: float
    expected: str = ""

    def __str__(self) -> str:
        before = f" (took before: {self.expected})" if self.expected and self.what == "phase" else ""
        return f"{self.sentence}{before}"


@dataclass(frozen=True, slots=True)
class Row:
    """How far one host is at this moment."""

    host: str
    ranks: str
    sentence: str
    phase_s: float
    expected: str
    note: str = ""


Told = Callable[[Event], None]
Shown = Callable[[list[Row]], None]
