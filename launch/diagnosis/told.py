"""What was found, as it is told: the failure on one host with its lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from launch.diagnosis.table import Role

if TYPE_CHECKING:
    from launch.diagnosis.capture import Source
    from launch.diagnosis.lines import Line
    from launch.diagnosis.match import Match

LINES = 3
Severity = Literal["error", "info"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line: which file, the how many, when (seconds since 1970, corrected) and what it says."""

    host: str
    file: str
    line: int
    at: float | None
    text: str

    @classmethod
    def of(cls, source: Source, line: Line) -> Evidence:
        return cls(source.host, source.name, line.number, line.at, line.raw.strip()[:600])


@dataclass(frozen=True, slots=True)
class Found:
    """One known failure on one host. `groups`: what its patterns named. `details`: what else the capture says of it."""

    id: str
    title: str
    host: str
    sentence: str
    cause: str
    fix: tuple[str, ...]
    look: tuple[str, ...] = ()
    message: str = ""  # the id of vLLM's own message, where it is one
    phase: str = "any"
    role: Role = Role.CAUSE
    severity: Severity = "error"
    ranks: tuple[int, ...] = ()
    processes: tuple[str, ...] = ()
    at: float | None = None
    count: int = 1
    evidence: tuple[Evidence, ...] = ()
    details: tuple[str, ...] = ()
    groups: dict[str, str] = field(default_factory=dict)
    checks: tuple[str, ...] = ()
    confirmed_by: tuple[str, ...] = ()
    by_kernel: bool = False
    retry: bool = False

    @property
    def runbook(self) -> str:
        return f"docs/runbooks/{self.id}.md"


def found_of(host: str, role: Role, group: Sequence[Match]) -> Found:
    """Unite the matches of one failure on one host; the first tells."""
    ordered = sorted(group, key=_moment)
    first, failure = ordered[0], ordered[0].failure
    groups: dict[str, str] = {}
    for one in ordered:
        for name, value in one.groups:
            groups.setdefault(name, value)
    return Found(
        id=failure.id,
        title=failure.title,
        host=host,
        sentence=failure.sentence(host or "the host", groups),
        cause=failure.cause,
        fix=failure.fix,
        look=failure.look,
        message=next((one.message for one in ordered if one.message), ""),
        phase=failure.phase,
        role=role,
        severity="info" if role in {Role.NOTICE, Role.WAITING} else "error",
        ranks=tuple(sorted({one.line.rank for one in ordered if one.line.rank is not None})),
        processes=tuple(dict.fromkeys(one.line.process for one in ordered if one.line.process)),
        at=first.line.at,
        count=len(ordered),
        evidence=tuple(Evidence.of(one.source, one.line) for one in ordered[:LINES]),
        groups=groups,
        checks=failure.checks,
        by_kernel=failure.kernel,
        retry=failure.retry,
    )


def _moment(one: Match) -> tuple[bool, float, str, int]:
    at = one.line.at
    return at is None, at or 0.0, one.source.name, one.line.number
