"""What each match is here: a cause, or a consequence of what came before it; by the clocks and the kernel. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.diagnosis.attempt import BEGINS, READY, SERVES
from launch.diagnosis.capture import Kind, Source
from launch.diagnosis.table import Role
from launch.diagnosis.told import Found, found_of

if TYPE_CHECKING:
    from launch.diagnosis.lines import Line
    from launch.diagnosis.match import Match

MOVES = re.compile(
    r"Starting to load model |Loading weights took|Model loading took|torch\.compile took|KV cache size: |"
    r"Graph capturing finished|init engine \("
)
STARTING = frozenset({Role.CAUSE, Role.SYMPTOM, Role.CONSEQUENCE, Role.WRAPPER})
MARKED_WITHIN = 50
"""Lines at the beginning of a log among which a start says that it is one: the log is whole."""
EARLY = frozenset(
    ("control", "install", "download", "import", "cuda-init", "device", "parse", "config", "start", "dist-init", "load")
)
"""Phases whose failures end a start: in a server that makes tokens afterwards they were of one request."""
SERVED_ON_S = 300.0
"""A host that makes tokens this long behind a fault of its hardware has overcome it."""
HOUR_S, MOST_ZONE_S, ECHO_S = 3600.0, 14 * 3600.0 + 60.0, 60.0
"""Zones are whole hours, 14 at most, and the two tell one event within a minute."""
KERNEL_BEFORE_S = 3600.0
"""A kernel's error is of this failure when it came at most this long before the first line of the start ..."""
KERNEL_AFTER_S = 60.0
"""... and at most this long behind the first error of the engine."""


@dataclass(frozen=True, slots=True)
class Serving:
    """When ranks were ready: what they complained of before, they have overcome.

    `lines`: of each text with one server, where it says so. `at`: when the last of all hosts did. `until`: the last
    moment of each host's log. `made`: the last line of each text that tells of tokens; `moved`: of progress, of any
    process and of each. `served`: when each host last made tokens.
    """

    lines: Mapping[str, int]
    at: float | None
    until: Mapping[str, float]
    made: Mapping[str, int]
    moved: Mapping[str, int]
    went: Mapping[tuple[str, str, int | None], int]
    served: Mapping[str, float]

    @classmethod
    def of(cls, sources: Sequence[Source]) -> Serving:
        logs = [one for one in sources if one.kind is Kind.LOG and one.host]
        ready = {one.name: line for one in logs for line in one.lines if READY.search(line.text)}
        alone = {one.name for one in logs if len({line.pid for line in one.lines if BEGINS.search(line.text)}) < 2}
        times = [line.at for line in ready.values() if line.at is not None]
        until = {one.host: line.at for one in logs for line in one.lines[-1:] if line.at is not None}
        making = [(one, line) for one in logs for line in one.lines if SERVES.search(line.text)]
        moving = [(one, line) for one in logs for line in one.lines if MOVES.search(line.text)]
        made = {one.name: line.number for one, line in making}
        moved = {one.name: line.number for one, line in moving}
        went = {(one.name, line.process, line.pid): line.number for one, line in moving if line.process}
        served = {one.host: line.at for one, line in making if line.at is not None}
        own = {name: line.number for name, line in ready.items() if name in alone}
        return cls(own, max(times, default=None), until, made, moved, went, served)

    def was_a_warning(self, source: Source, line: Line) -> bool:
        """Whether the engine took it lightly and its start went on: a second try, a package that it can do without."""
        return (line.level == "WARNING" and line.number < self.moved.get(source.name, 0)) or self.went_on(source, line)

    def went_on(self, source: Source, line: Line) -> bool:
        """Whether the very process of this line came further afterwards."""
        return line.number < self.went.get((source.name, line.process, line.pid), 0)

    def was_before_it(self, source: Source, line: Line) -> bool:
        """Whether a program that is none of the engine's said it, and the engine started all the same."""
        return not line.process and line.rank is None and line.number < self.moved.get(source.name, 0)

    def served_on(self, host: str, at: float | None) -> bool:
        """Whether the host, or where it has no server any, made tokens long behind this moment."""
        last = self.served.get(host, max(self.served.values(), default=None))
        return at is not None and last is not None and at + SERVED_ON_S < last

    def failed_a_request(self, source: Source, line: Line) -> bool:
        """Whether it is of a server's process that served others afterwards: an engine that fails does not."""
        of_server = not line.process or line.process.lower().startswith("apiserver")
        return of_server and line.number < self.made.get(source.name, 0)

    def is_ready_at(self, source: Source, line: Line) -> bool:
        """Whether it is of a server that was ready: nothing that ends a start ends it."""
        ready = self.lines.get(source.name)
        return ready is not None and ready < line.number and line.process.lower().startswith("apiserver")

    def has_overcome(self, source: Source, line: Line) -> bool:
        """Whether the rank of this line, or its very process, came further afterwards."""
        return self.came_after(source, line) or self.was_a_warning(source, line)

    def came_after(self, source: Source, line: Line) -> bool:
        """Whether the rank of this line served afterwards."""
        own = self.lines.get(source.name)
        if own is not None:
            return line.number < own
        until = self.until.get(source.host)
        if self.at is None or line.at is None or until is None:
            return False
        return line.at < self.at <= until and source.kind is Kind.LOG


def founds_of(
    seen: Sequence[Match],
    unknown: Sequence[tuple[Source, Line]],
    sources: Sequence[Source],
    serving: Serving,
    *,
    compared: bool = True,
) -> list[Found]:
    """The matches by failure and host, each with the role that it has here. `compared`: the clocks of the hosts."""
    logs = [one for one in sources if one.kind is Kind.LOG]
    began = _earliest(line.at for one in logs for line in one.lines[:1])
    marked = any(BEGINS.search(line.text) for one in logs for line in one.lines[:MARKED_WITHIN])
    seen = [one for one in seen if not _is_of_request(one, serving)]
    engines = [one for one in seen if not one.failure.kernel and not serving.has_overcome(one.source, one.line)]
    broken = [one for one in engines if one.failure.role not in {Role.NOTICE, Role.WAITING}]
    ended = {one.source.host: one for one in reversed(engines) if one.failure.role is Role.CONSEQUENCE}
    broke = {
        host: _earliest(_breaks(broken, unknown, host, compared=compared))
        for host in {one.source.host for one in seen if one.failure.kernel}
    }
    grouped: dict[tuple[str, str, Role], list[Match]] = {}
    for one in seen:
        if one.failure.kernel:
            other = _has_other_zone(one, engines)
            role = one.failure.role if other else _kernel_role(one, began, broke[one.source.host], marked=marked)
        else:
            role = _device_role(one, ended)
        role = _role_while_serving(one, role, serving)
        grouped.setdefault((one.failure.id, one.source.host or _host_in(one), role), []).append(one)
    return [found_of(host, role, group) for (_, host, role), group in grouped.items()]


def _breaks(
    broken: Sequence[Match], unknown: Sequence[tuple[Source, Line]], host: str, *, compared: bool
) -> Iterator[float | None]:
    """When the engine failed, as the kernel of `host` may compare it: victims elsewhere may have other clocks."""
    for one in broken:
        if compared or one.source.host == host or one.failure.role in {Role.CAUSE, Role.SYMPTOM}:
            yield one.line.at
    yield from (line.at for _, line in unknown)


def _is_of_request(one: Match, serving: Serving) -> bool:
    """Whether one request failed of it, and the server went on."""
    could = one.failure.role in {Role.CONSEQUENCE, Role.WRAPPER} or one.failure.phase in EARLY
    return could and not one.failure.kernel and serving.failed_a_request(one.source, one.line)


def _role_while_serving(one: Match, role: Role, serving: Serving) -> Role:
    if one.failure.kernel and serving.served_on(one.source.host, one.line.at):
        return Role.NOTICE
    if role in STARTING and serving.has_overcome(one.source, one.line):
        return Role.NOTICE
    early = role in {Role.CAUSE, Role.SYMPTOM} and one.failure.phase in EARLY
    return Role.CONSEQUENCE if early and serving.is_ready_at(one.source, one.line) else role


def _host_in(one: Match) -> str:
    """A text that is of no host may name one in its lines."""
    _, mark, rest = one.line.raw.partition("host=")
    return rest.split()[0] if mark and rest.split() else ""


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((one for one in times if one is not None), default=None)


def _has_other_zone(one: Match, engines: Sequence[Match]) -> bool:
    """Whether the engine of the host says the same whole hours away: `dmesg -T` has local time, a container UTC."""
    apart = (
        abs(one.line.at - other.line.at)
        for other in engines
        if other.failure.id in one.failure.echo and other.source.host == one.source.host
        if one.line.at is not None and other.line.at is not None
    )
    return any(HOUR_S - ECHO_S <= by <= MOST_ZONE_S and min(by % HOUR_S, -by % HOUR_S) <= ECHO_S for by in apart)


def _kernel_role(one: Match, began: float | None, broke: float | None, *, marked: bool) -> Role:
    at = one.line.at
    if at is None or (began is None and broke is None):
        return one.failure.role
    start = min(each for each in (began, broke) if each is not None)
    before = KERNEL_BEFORE_S if one.failure.lasting or not marked else 0.0  # what it did to others is past
    late = broke is not None and at > broke + KERNEL_AFTER_S
    return Role.NOTICE if at < start - before else Role.CONSEQUENCE if late else one.failure.role


def _device_role(one: Match, ended: dict[str, Match]) -> Role:
    """A device that fails behind the end of a peer fails because of it, and may say so itself."""
    if one.failure.remote and re.search(one.failure.remote, one.line.text):
        return Role.CONSEQUENCE
    end = ended.get(one.source.host)
    if not one.failure.device or end is None or one.failure.role not in {Role.CAUSE, Role.SYMPTOM}:
        return one.failure.role
    if end.source.name == one.source.name:
        return Role.CONSEQUENCE if end.line.number < one.line.number else one.failure.role
    if end.line.at is None or one.line.at is None:
        return one.failure.role
    return Role.CONSEQUENCE if end.line.at < one.line.at else one.failure.role
