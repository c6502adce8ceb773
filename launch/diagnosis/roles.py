"""What each match is here: a cause, or a consequence of what came before it; by the clocks and the kernel. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from launch.diagnosis.capture import Kind, Source
from launch.diagnosis.table import Role
from launch.diagnosis.told import Found, found_of

if TYPE_CHECKING:
    from launch.diagnosis.lines import Line
    from launch.diagnosis.match import Match

KERNEL_BEFORE_S = 3600.0
"""A kernel's error is of this failure when it came at most this long before the first line of the start ..."""
KERNEL_AFTER_S = 60.0
"""... and at most this long behind the first error of the engine."""


def founds_of(seen: Sequence[Match], unknown: Sequence[tuple[Source, Line]], sources: Sequence[Source]) -> list[Found]:
    """The matches by failure and host, each with the role that it has here."""
    began = _earliest(line.at for one in sources if one.kind is Kind.LOG for line in one.lines[:1])
    broke = _earliest(
        [one.line.at for one in seen if not one.failure.kernel and one.failure.role not in {Role.NOTICE, Role.WAITING}]
        + [line.at for _, line in unknown]
    )
    ended = {one.source.host: one for one in reversed(seen) if one.failure.role is Role.CONSEQUENCE}
    grouped: dict[tuple[str, str, Role], list[Match]] = {}
    for one in seen:
        role = _kernel_role(one, began, broke) if one.failure.kernel else _device_role(one, ended)
        grouped.setdefault((one.failure.id, one.source.host or _host_in(one), role), []).append(one)
    return [found_of(host, role, group) for (_, host, role), group in grouped.items()]


def _host_in(one: Match) -> str:
    """A text that is of no host may name one in its lines."""
    _, mark, rest = one.line.raw.partition("host=")
    return rest.split()[0] if mark and rest.split() else ""


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((one for one in times if one is not None), default=None)


def _kernel_role(one: Match, began: float | None, broke: float | None) -> Role:
    at = one.line.at
    if at is None or (began is None and broke is None):
        return one.failure.role
    start = min(each for each in (began, broke) if each is not None)
    late = broke is not None and at > broke + KERNEL_AFTER_S
    return Role.NOTICE if at < start - KERNEL_BEFORE_S else Role.CONSEQUENCE if late else one.failure.role


def _device_role(one: Match, ended: dict[str, Match]) -> Role:
    """A device that fails behind the end of a peer fails because of it."""
    end = ended.get(one.source.host)
    if not one.failure.device or end is None or one.failure.role is not Role.CAUSE:
        return one.failure.role
    if end.source.name == one.source.name:
        return Role.CONSEQUENCE if end.line.number < one.line.number else one.failure.role
    if end.line.at is None or one.line.at is None:
        return one.failure.role
    return Role.CONSEQUENCE if end.line.at < one.line.at else one.failure.role
