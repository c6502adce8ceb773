"""Errors that no table knows: the last lines of tracebacks, and what a process says as it crashes. Pure.

`FirstCause` reads line by line, for a log that is still being written; `errors` a text that is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from launch.diagnosis.lines import Line

# A process that says one of these does not come back.
FATAL = re.compile(
    r"EngineCore failed to start|EngineCore encountered a fatal error|WorkerProc failed to start|"
    r"Engine core initialization failed|WorkerProc initialization failed"
)
OPTION = re.compile(r"\S.*?: error: (?P<reason>.+)")
CRASH = re.compile(
    r"Fatal Python error: |terminate called after throwing|!!!!!!! Segfault encountered|Segmentation fault"
)
TRACEBACK = re.compile(r"Traceback \(most recent call last\):")
EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:\(\w+\))?(?:: .*)?$")
NAME = re.compile(r"(?:[\w.]+\.)?(?P<rest>\w+: .*|\w+$)", re.DOTALL)
STOPPING = re.compile(r"\[shutdown\] .*(?:triggered|trigger received)")
ENDED = re.compile(
    r"(?:[\w.]+\.)?(?:CancelledError|KeyboardInterrupt|SystemExit|EOFError|BrokenPipeError|ConnectionResetError|"
    r"GeneratorExit)\b|Worker failed with error|Executor failed|.*ActorHandleNotFoundError|.*ActorDiedError"
)
"""How processes end whose peer is gone."""
TAKEN_LIGHTLY = frozenset({"DEBUG", "INFO", "WARNING"})


@cache
def consequence() -> re.Pattern[str]:
    """What says only that another process failed."""
    from launch.diagnosis.table import Role, failures  # not at import: reading a log needs no table

    roles = {Role.WRAPPER, Role.CONSEQUENCE}
    told = [pattern.pattern for one in failures() if one.role in roles for _, pattern in one.searches]
    return re.compile("|".join(f"(?:{_unnamed(one)})" for one in (ENDED.pattern, *told)))


def _unnamed(pattern: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


@dataclass(slots=True)
class FirstCause:
    """Fed with every line. `error` is one sentence; `line` is the one that holds it."""

    line: str = ""
    is_fatal: bool = False
    _cause: str | None = None
    _consequence: str | None = None
    _doomed: bool = False
    _stopping: bool = False
    _open: dict[str, bool] = field(default_factory=dict)  # processes in the middle of a traceback
    _continued: str | None = None  # the process whose error goes on in indented lines

    @property
    def error(self) -> str | None:
        return self._cause or self._consequence

    def feed(self, process: str, level: str | None, text: str) -> None:
        """Read one line: who wrote it, its level if it has one, and the rest."""
        self._stopping = self._stopping or bool(STOPPING.search(text))
        if self._stopping:  # what an engine reports when it is told to stop is no failure
            return
        if FATAL.search(text):
            self._doomed = True
        if self._continued == process and self._goes_on(text):
            return
        self._continued = None
        if (option := OPTION.match(text)) and not process:
            self._found(option["reason"], text)
            self._doomed = True
        elif CRASH.match(text):
            self._found(text.strip(), text)
        else:
            self._trace(process, level, text)
        self.is_fatal = self._doomed and self.error is not None

    def _trace(self, process: str, level: str | None, text: str) -> None:
        if TRACEBACK.match(text):
            self._open[process] = level not in TAKEN_LIGHTLY
        elif process in self._open and EXCEPTION.match(text) and self._open.pop(process):
            self._exception(process, text)

    def _exception(self, process: str, text: str) -> None:
        short = NAME.match(text)
        self._found(short["rest"] if short else text, text)
        if "validation error" in text:
            self._continued = process

    def _goes_on(self, text: str) -> bool:
        """The reason of a failed validation is in the lines below it, indented."""
        if not text.startswith("  ") or text.strip().startswith("For further information"):
            return False
        if self._cause and text.strip() not in self._cause:
            self._cause += f"; {text.strip()}"
        return True

    def _found(self, reason: str, line: str) -> None:
        if consequence().search(reason):
            self._consequence = self._consequence or reason
        elif self._cause is None:
            self._cause = reason
        else:
            return
        self.line = self.line or line


def errors(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines that tell an error of their own: exceptions, crashes, refused options, single lines of level ERROR."""
    open_in: dict[str, bool] = {}
    last: dict[str, Line] = {}
    told: dict[str, float | None] = {}  # when a process told its exception, whose message may have more lines
    for at, one in enumerate(lines):
        last[one.process] = one
        if TRACEBACK.match(one.text):
            open_in[one.process] = one.level not in TAKEN_LIGHTLY
        elif one.process in open_in:
            if EXCEPTION.match(one.text):
                told[one.process] = one.at
                if open_in.pop(one.process) and not _is_consequence(one):
                    yield one
        elif _tells(one, lines, at) and not _goes_on(one, told) and not _is_consequence(one):
            yield one
    yield from (one for one in last.values() if _breaks_off(one, open_in, is_last=one is lines[-1]))


def _goes_on(one: Line, told: Mapping[str, float | None]) -> bool:
    """Whether it is of the message of the exception before it, which the logger wrote at once."""
    return bool(one.level) and one.process in told and one.at is not None and one.at == told[one.process]


def _breaks_off(one: Line, open_in: Mapping[str, bool], *, is_last: bool) -> bool:
    """Whether a process has its last word in the middle of an error: the log is cut, or it was killed."""
    stops = is_last or one.text[:1].isspace() or TRACEBACK.match(one.text) is not None
    inside = open_in.get(one.process, False) and stops
    return inside or (one.level in {"ERROR", "CRITICAL"} and FATAL.match(one.text) is not None)


def _is_consequence(one: Line) -> bool:
    return bool(consequence().search(one.text) or FATAL.search(one.text))


def _tells(one: Line, lines: Sequence[Line], at: int) -> bool:
    if CRASH.match(one.text) or (OPTION.match(one.text) and not one.process):
        return True
    heads = at + 1 < len(lines) and TRACEBACK.match(lines[at + 1].text)  # the exception below it says more
    return one.level in {"ERROR", "CRITICAL"} and bool(one.text.strip()) and not heads
