"""Which lines of a log are of the last start: an error of yesterday's must not answer for today's. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from launch.diagnosis.capture import Kind, Source
from launch.diagnosis.lines import Line

BEGINS = re.compile(r"non-default args: |vLLM (?:API )?server version ")
UNIT_BEGINS = re.compile(r"Start(?:ed|ing) .*(?:bringup|vllm)|bringup-\S+\.service: Scheduled restart job")
UNIT_ENDS = re.compile(r"Main process exited|Failed with result|Deactivated successfully|Stopped .*(?:bringup|vllm)")
STOPPING = re.compile(r"\[shutdown\] .*(?:triggered|trigger received)")
READY = re.compile(r"Application startup complete\.")
SERVES = re.compile(r'Avg generation throughput: (?!0\.0 )|"POST /v1/\S+ HTTP/[\d.]+" 200')
"""Tokens are made for somebody."""
TOGETHER_S = 900.0
"""Hosts of one start begin within this time."""


def of_last_attempt(sources: Sequence[Source], began_at: float | None) -> tuple[Source, ...]:
    """The sources with the lines of the last start only. The kernel's log stays whole: it is judged by its times."""
    cut = [one if one.kind is Kind.KERNEL else replace(one, lines=_last(one.lines)) for one in sources]
    since = began_at - 2.0 if began_at is not None else _since(cut)
    if since is None:
        return tuple(cut)
    return tuple(one if one.kind is not Kind.LOG else replace(one, lines=tuple(_from(one.lines, since))) for one in cut)


def before_stop(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines until the engine was told to stop: what it reports then is no failure."""
    end = next((at for at, one in enumerate(lines) if STOPPING.search(one.text)), len(lines))
    return tuple(lines[:end])


def _since(sources: Sequence[Source]) -> float | None:
    """The last start that a log tells of, less what hosts may differ in."""
    marks = [one.at for source in sources for one in source.lines if BEGINS.search(one.text) and one.at is not None]
    return max(marks) - TOGETHER_S if marks else None


def _from(lines: Sequence[Line], since: float) -> list[Line]:
    return [one for one in lines if one.at is None or one.at >= since]


def _last(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """From where the last start begins. Servers that run side by side begin too, but those before them go on."""
    ends = {one.pid: at for at, one in enumerate(lines) if one.process}  # the last line of each process
    begin, seen, marks = 0, set[int | None](), set[tuple[int | None, str]]()
    for at, one in enumerate(lines):
        if one.ident.startswith("systemd"):
            over = UNIT_ENDS.search(one.text) and _goes_on(lines, at)
            begin = at if UNIT_BEGINS.search(one.text) else at + 1 if over else begin
        elif mark := BEGINS.search(one.text):
            said = (one.pid, mark[0])  # once in the life of a process: a container's next one has the same number
            if said in marks or (one.pid is not None and _are_over(seen - {one.pid}, ends, at)):
                begin, seen, marks = at, set(), set()
            marks.add(said)
        if one.process and one.pid is not None:
            seen.add(one.pid)
    return lines[begin:]


def _are_over(pids: set[int | None], ends: Mapping[int | None, int], at: int) -> bool:
    return bool(pids) and all(ends[pid] < at for pid in pids)


def _goes_on(lines: Sequence[Line], at: int) -> bool:
    return any(not one.ident.startswith("systemd") for one in lines[at + 1 :])
