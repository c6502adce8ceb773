"""Find known failures in one text. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from launch.diagnosis.attempt import before_stop
from launch.diagnosis.capture import Kind, Source
from launch.diagnosis.lines import Line
from launch.diagnosis.table import Failure, Role, failures

MOST = 200
"""Matches of one pattern in one text that are kept."""
REACH = 40
"""Lines around a special failure in which a more general one is the same."""
ORDER = tuple(Role)
OTHERS = frozenset(
    (
        *(
            "CRON",
            "cron",
            "crond",
            "nginx",
            "snapd",
            "chronyd",
            "ntpd",
            "NetworkManager",
            "systemd-resolved",
            "dbus-daemon",
        ),
        *(
            "prometheus",
            "node_exporter",
            "grafana",
            "fluentd",
            "fluent-bit",
            "promtail",
            "telegraf",
            "rsyslogd",
            "postfix",
        ),
        *("avahi-daemon", "multipathd", "smartd", "polkitd", "unattended-upgr", "packagekitd", "apt.systemd.daily"),
    )
)
"""Services of every host, by their name in the journal: what they complain of is not of the engine."""


@dataclass(frozen=True, slots=True)
class Match:
    """`line` is the first of it. `message`: the id of the engine's message. `groups`: what the pattern names."""

    failure: Failure
    message: str
    source: Source
    line: Line
    groups: tuple[tuple[str, str], ...]

    @property
    def order(self) -> tuple[int, int]:
        """Of two at one line: the better answer, then the more special one."""
        return ORDER.index(self.failure.role), _places()[self.failure.id]


@cache
def _places() -> dict[str, int]:
    return {one.id: at for at, one in enumerate(failures())}


def matches(source: Source) -> tuple[Match, ...]:
    """What a text tells of known failures, one a line. What an engine says while it is being stopped is left out."""
    lines = source.lines if source.kind is Kind.KERNEL else before_stop(source.lines)
    lines = tuple(one for one in lines if one.ident not in OTHERS)
    loud = lines if source.kind is Kind.KERNEL else [one for one in lines if not one.is_quiet]  # `INFO: task hangs`
    texts = (_Text(lines), _Text(loud))
    found = [match for failure in failures() for match in _of(failure, source, texts[0 if failure.quiet else 1])]
    return tuple(_without_general(_one_a_line(found)))


class _Text:
    """Messages of lines as one text, and where each begins in it."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.text = "\n".join(line.text for line in lines)
        self.starts = [0, *accumulate(len(line.text) + 1 for line in lines)]

    def line_at(self, place: int) -> Line:
        return self.lines[bisect_right(self.starts, place) - 1]

    def ending(self) -> _Text:
        """Without the lines that only tell that something still waits."""
        return _Text([one for one in self.lines if not _waiting().search(one.text)])


@cache
def _waiting() -> re.Pattern[str]:
    waits = [pattern.pattern for one in failures() if one.role is Role.WAITING for _, pattern in one.searches]
    return re.compile("|".join([*waits, r"Waiting for READY message", r"^Engine \d+: Avg prompt"]))


def _of(failure: Failure, source: Source, text: _Text) -> Iterator[Match]:
    if not text.lines:
        return
    searches = failure.of_states if failure.kernel and source.kind is Kind.OUTPUT else failure.searches
    searched = text.ending() if failure.last else text
    for message, pattern in searches:
        for at, found in enumerate(pattern.finditer(searched.text)):
            if at >= MOST or not searched.lines:
                break
            groups = tuple((name, value) for name, value in found.groupdict().items() if value)
            yield Match(failure, message, source, searched.line_at(found.start()), groups)


def _one_a_line(found: Sequence[Match]) -> list[Match]:
    best: dict[int, Match] = {}
    for one in found:
        kept = best.get(one.line.number)
        if kept is None or one.order < kept.order:
            best[one.line.number] = one
    return [best[number] for number in sorted(best)]


def _without_general(found: Sequence[Match]) -> Iterator[Match]:
    for one in found:
        special = (other for other in found if _says_more(other.failure, one.failure))
        if not any(abs(other.line.number - one.line.number) <= REACH for other in special):
            yield one


def _says_more(special: Failure, one: Failure) -> bool:
    return one.id in special.over or (one.general and special.role is Role.CAUSE and not special.general)
