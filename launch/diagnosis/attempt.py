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
OURS = re.compile(r"bringup|vllm")
UNIT = re.compile(r"[\w@.\\-]+\.(?:service|scope)\b")
ROTATED = re.compile(r"(?P<current>.+\.log)\.\d+(?:\.gz)?")
STOPPING = re.compile(r"\[shutdown\] .*(?:triggered|trigger received)")
READY = re.compile(r"Application startup complete\.")
SERVES = re.compile(r'Avg generation throughput: (?!0\.0 )|"POST /v1/\S+ HTTP/[\d.]+" 200')
"""Tokens are made for somebody."""
FABRIC = re.compile(r"nv-fabricmanager|fabricmanager\b|(?:^|/)journal_fm\b")
FABRIC_UP = re.compile(
    r"Started .*(?:nvidia-fabricmanager|NVIDIA fabric manager)|Successfully configured all the available"
)
TOGETHER_S = 900.0
"""Hosts of one start begin within this time."""


def of_last_attempt(sources: Sequence[Source], began_at: float | None) -> tuple[Source, ...]:
    """The sources with the lines of the last start only. The kernel's log stays whole: it is judged by its times."""
    begun = {one.name for one in sources if any(BEGINS.search(line.text) for line in one.lines)}
    cut = [one if one.kind is Kind.KERNEL else replace(one, lines=_last(one.lines)) for one in sources]
    cut = [replace(one, lines=()) if _is_before(one, begun) else one for one in cut]
    since = began_at - 2.0 if began_at is not None else _since(cut)
    if since is None:
        return tuple(cut)
    return tuple(one if one.kind is not Kind.LOG else replace(one, lines=tuple(_from(one, since))) for one in cut)


def before_stop(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines until the engine was told to stop: what it reports then is no failure.

    Processes write into one log, each when it comes to it: what is of an earlier time is of before.
    """
    end = next((at for at, one in enumerate(lines) if STOPPING.search(one.text)), len(lines))
    stopped = lines[end].at if end < len(lines) else None
    late = (one for one in lines[end:] if stopped is not None and one.at is not None and one.at < stopped)
    return (*lines[:end], *late)


def _is_before(one: Source, begun: set[str]) -> bool:
    """Whether it was put aside before the log that follows it began with a start of its own."""
    rotated = ROTATED.fullmatch(one.name)
    return rotated is not None and any(name in begun for name in (rotated["current"], f"{rotated['current']}.gz"))


def _since(sources: Sequence[Source]) -> float | None:
    """The last start that a log tells of, less what hosts may differ in."""
    marks = [one.at for source in sources for one in source.lines if BEGINS.search(one.text) and one.at is not None]
    return max(marks) - TOGETHER_S if marks else None


def _from(source: Source, since: float) -> list[Line]:
    """What the fabric manager said when it last came up holds until it comes up anew, mostly with the host."""
    up = max((at for at, one in enumerate(source.lines) if FABRIC_UP.search(one.text)), default=-1)
    of_fabric = FABRIC.search(source.name) is not None
    return [
        one
        for at, one in enumerate(source.lines)
        if one.at is None or one.at >= since or (at > up and (of_fabric or FABRIC.match(one.ident)))
    ]


def _last(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """From where the last start begins. Servers that run side by side begin too, but those before them go on."""
    ends = {one.pid: at for at, one in enumerate(lines) if one.process}  # the last line of each process
    units = {match[0] for one in lines if one.ident.startswith("systemd") for match in UNIT.finditer(one.text)}
    begin, seen, marks, servers = 0, set[int | None](), set[tuple[int | None, str]](), set[int | None]()
    for at, one in enumerate(lines):
        if one.ident.startswith("systemd"):
            ours = len(units) < 2 or OURS.search(one.text)  # a whole journal has the ends of all services
            over = ours and UNIT_ENDS.search(one.text) and _goes_on(lines, at)
            begin = at if UNIT_BEGINS.search(one.text) else at + 1 if over else begin
        elif mark := BEGINS.search(one.text):
            said = (one.pid, mark[0])  # once in the life of a process: a container's next one has the same number
            if said in marks or (one.pid is not None and _are_over(seen - {one.pid}, ends, at)):
                begin, seen, marks, servers = at, set(), set(), set()
            marks.add(said)
        elif one.process == "APIServer" and servers - {one.pid} and _are_over(seen, ends, at):
            begin, seen, marks, servers = at, set(), set(), set()  # its level is above that of the mark
        if one.process and one.pid is not None:
            seen.add(one.pid)
            servers |= {one.pid} if one.process == "APIServer" else set()
    return lines[begin:]


def _are_over(pids: set[int | None], ends: Mapping[int | None, int], at: int) -> bool:
    return bool(pids) and all(ends[pid] < at for pid in pids)


def _goes_on(lines: Sequence[Line], at: int) -> bool:
    return any(not one.ident.startswith("systemd") for one in lines[at + 1 :])
