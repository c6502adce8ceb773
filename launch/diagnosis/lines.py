"""Lines of a log in one form, whatever wrote it and whatever it went through. Pure.

Taken off, from the outside in: colours, docker's JSON, times and names of journald, Kubernetes and compose, Ray's
prefix, vLLM's own `(EngineCore_DP1 pid=12) ERROR 11-29 12:34:56 [core.py:10]`, torch's `[rank3]:[E1129 ...`. A line
without a time is of the moment of the one before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from launch.diagnosis import clock
from launch.diagnosis.clock import Clock

LONGEST = 4000
"""Characters of a line that are read: some hold a whole configuration, or a picture."""
COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]")
RAY = re.compile(r"\((?P<actor>[\w.:]+)(?: pid=(?P<pid>\d+))?(?:, ip=(?P<ip>[\d.]+))?\)\s+")
VLLM = re.compile(r"\((?P<process>[A-Za-z][\w:.-]*)(?: pid=(?P<pid>\d+))?\) ?")
PREFIXED = re.compile(r"[^(]{1,80}(?=\([A-Za-z][\w:.-]* pid=\d+\) (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d )")
LEVEL = re.compile(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)(?=[ :])[: ] *")
PLACE = re.compile(r"\[(?P<place>[\w./-]+\.\w{1,4}:\d+)\] ?")
JOURNAL = re.compile(
    r"(?!(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) )(?P<host>[\w.-]+) (?![0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.)"
    r"(?P<ident>[\w@./:-]+?)(?:\[(?P<pid>\d+)\])?: "  # `amdgpu 0000:05:00.0: ` of dmesg is none
)
UNNAMED = re.compile(r"[^\w:.-]")
CRI = re.compile(r" (?:stdout|stderr) [FP] ")
OUTERMOST = re.compile(
    r"(?:[\w.-]+\s+\| |\[pod/[^\]]+\] |\[\d+,\d+\]<std(?:out|err)>:\s?|\[default\d+\]:\s?"
    r"|\s{0,3}\d{1,4}: (?=[(\[A-Z])|[\w.-]{1,64}: (?=\([A-Z]\w* pid=))"
)
"""Compose, kubectl, mpirun, torchrun, srun --label and pdsh."""
RANK = re.compile(r"(?:\[default\d+\]:)?\[rank ?(?P<rank>\d+)\]:?\s?")
TORCH = re.compile(r"\[(?P<level>[EWI])(?= \w)|\[?(?P<level2>[EWI])(?=\d{4} \d\d:)")
IN_PROCESS = re.compile(r"_(?:DP|EP)(\d+)|_TP(\d+)|(?:VllmWorker|ApiServer)[-_](\d+)")
PYTHON = re.compile(r" ?- (?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) - ")


@dataclass(frozen=True, slots=True)
class Line:
    """`number` counts from 1. `at`: corrected seconds since 1970, None where nothing tells. `text`: the message."""

    number: int
    at: float | None
    process: str
    rank: int | None
    level: str
    text: str
    raw: str
    pid: int | None = None
    ident: str = ""  # of journald: kernel, systemd, vllm

    @property
    def is_quiet(self) -> bool:
        return self.level in {"DEBUG", "INFO"}


def read(text: str, when: Clock) -> tuple[Line, ...]:
    """All lines of a log, in their order. Progress bars are read to their last state."""
    found = [_line(number, one, when) for number, raw in _numbered(text) for one in _out_of_json(raw)]
    first = next((one.at for one in found if one.at is not None), None)
    return tuple(_timed(found, first))


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        whole = COLOUR.sub("", line).rstrip("\r")
        kept = whole.rpartition("\r")[2].replace("\x00", "")
        if kept.strip():
            yield number, kept[:LONGEST]


def _timed(found: list[Line], first: float | None) -> Iterator[Line]:
    last = first
    for one in found:
        if one.at is None:
            yield Line(one.number, last, one.process, one.rank, one.level, one.text, one.raw, one.pid, one.ident)
        else:
            last = one.at
            yield one


@dataclass(slots=True)
class _Reading:
    """One line while its prefixes are taken off."""

    rest: str
    at: float | None = None
    process: str = ""
    rank: int | None = None
    level: str = ""
    pid: int | None = None
    ident: str = ""

    def take(self, form: re.Pattern[str]) -> re.Match[str] | None:
        match = form.match(self.rest)
        if match:
            self.rest = self.rest[match.end() :]
        return match

    def take_time(self, when: Clock) -> bool:
        """The outermost time counts: it is of the host's own clock."""
        found = clock.find(self.rest)
        if found is None:
            return False
        match, end = found
        if self.at is None:
            self.at = when.moment(match)
        self.rest = self.rest[end:]
        return True


def _line(number: int, raw: str, when: Clock) -> Line:
    reading = _Reading(raw)
    reading.take(OUTERMOST)
    _outer(reading, when)
    _inner(reading, when)
    process = reading.process
    rank = reading.rank if reading.rank is not None else _rank_of(process)
    return Line(number, reading.at, process, rank, reading.level, reading.rest, raw, reading.pid, reading.ident)


def _out_of_json(raw: str) -> tuple[str, ...]:
    """A line of docker's json-file, of journald's JSON or of a logger that writes JSON, as lines with its time."""
    if not raw.lstrip().startswith("{"):
        return (raw,)
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return (raw,)
    if not isinstance(told, dict):
        return (raw,)
    if isinstance(told.get("log"), str):
        return _with_each(f"{told.get('time', '')} ".lstrip(), told["log"].rstrip())
    message = told.get("MESSAGE")
    if isinstance(message, list):
        message = bytes(one for one in message if isinstance(one, int) and 0 <= one < 256).decode(errors="replace")
    if not isinstance(message, str):
        return _of_logger(told) or (raw,)
    stamp = str(told.get("_SOURCE_REALTIME_TIMESTAMP") or told.get("__REALTIME_TIMESTAMP") or "")
    time = f"{int(stamp) / 1e6:.6f} " if stamp.isdecimal() and len(stamp) == 16 else ""
    ident = told.get("SYSLOG_IDENTIFIER") or told.get("_COMM") or "unknown"
    return _with_each(f"{time}{told.get('_HOSTNAME', 'host')} {ident}: ", message)


def _with_each(head: str, text: str) -> tuple[str, ...]:
    return tuple(f"{head}{one}" for one in COLOUR.sub("", text).splitlines() if one.strip()) or (head,)


def _of_logger(told: dict[str, object]) -> tuple[str, ...]:
    """Message and traceback in the engine's own form, each line with process, level and time."""

    def first(*names: str) -> str:
        return next((one for name in names if isinstance(one := told.get(name), str)), "")

    message = "\n".join(filter(None, (first("message", "msg", "event"), first("exc_info", "exception", "traceback"))))
    process, pid = first("processName", "process_name"), told.get("process", told.get("pid"))
    who = f"({UNNAMED.sub('_', process)} pid={pid}) " if process and isinstance(pid, int) else ""
    level, time = first("levelname", "level", "severity").upper(), first("time", "timestamp", "asctime", "ts")
    return _with_each(f"{who}{level} {time} ".lstrip(), message) if message else ()


def _outer(reading: _Reading, when: Clock) -> None:
    """What a supervisor wrote before the line: its time, and who it was."""
    if not reading.take_time(when):
        return
    if reading.take(CRI):
        reading.take_time(when)
        return
    if match := PYTHON.match(reading.rest):
        reading.level = match["level"]
    reading.rest = reading.rest.lstrip(" :")
    if match := reading.take(JOURNAL):
        reading.ident = match["ident"]
        reading.pid = int(match["pid"]) if match["pid"] else None


def _inner(reading: _Reading, when: Clock) -> None:
    """What the engine itself wrote before its message, which VLLM_LOGGING_PREFIX may precede."""
    if match := PREFIXED.match(reading.rest):
        reading.rest = reading.rest[match.end() :]
    if (match := VLLM.match(reading.rest)) or (match := RAY.match(reading.rest)):
        named = match.groupdict()
        reading.rest = reading.rest[match.end() :]
        if "actor" not in named and (inner := VLLM.match(reading.rest)):  # Ray's actor, then vLLM's process
            match, named = inner, inner.groupdict()
            reading.rest = reading.rest[match.end() :]
        reading.process = str(named.get("process") or named.get("actor") or "")
        reading.pid = int(named["pid"]) if named.get("pid") else reading.pid
        reading.rest = RAY.sub("", reading.rest, count=1) if RAY.match(reading.rest) else reading.rest
    _rank(reading)
    if reading.ident != "kernel" and (match := reading.take(LEVEL)):
        reading.level = match["level"]
    torch = TORCH.match(reading.rest)
    reading.take_time(when)
    if torch and not reading.level:
        reading.level = {"E": "ERROR", "W": "WARNING", "I": "INFO"}[torch["level"] or torch["level2"]]
    reading.rest = reading.rest.lstrip(" ") if reading.level else reading.rest
    reading.take(PLACE)
    _rank(reading)


def _rank(reading: _Reading) -> None:
    if match := reading.take(RANK):
        reading.rank = int(match["rank"])


def _rank_of(process: str) -> int | None:
    """The number in `EngineCore_DP3`, `Worker_DP1_TP0_EP2` (data parallel before tensor), `Worker_TP8`."""
    match = IN_PROCESS.search(process)
    return next((int(one) for one in match.groups() if one), None) if match else None
