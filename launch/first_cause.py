"""The first cause of a failure in a log of several processes, of which all but one only report another's end. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# What these say is that another process failed: only where nothing better was seen.
CONSEQUENCE = re.compile(
    r"Engine core initialization failed|EngineDeadError|EngineCore encountered an issue"
    r"|WorkerProc initialization failed|Worker failed with error|Executor failed"
)
# A process that says one of these does not come back.
FATAL = re.compile(
    r"EngineCore failed to start|EngineCore encountered a fatal error|WorkerProc failed to start|"
    r"Engine core initialization failed|WorkerProc initialization failed"
)
OPTION = re.compile(r"\S.*?: error: (?P<reason>.+)")
CRASH = re.compile(r"Fatal Python error: |terminate called after throwing|!!!!!!! Segfault encountered")
TRACEBACK = re.compile(r"Traceback \(most recent call last\):")
EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?$")
NAME = re.compile(r"(?:[\w.]+\.)?(?P<rest>\w+: .*|\w+$)", re.DOTALL)
STOPPING = re.compile(r"\[shutdown\] .*(?:triggered|trigger received)")
TAKEN_LIGHTLY = frozenset({"DEBUG", "INFO", "WARNING"})


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
        if CONSEQUENCE.search(reason):
            self._consequence = self._consequence or reason
        elif self._cause is None:
            self._cause = reason
        else:
            return
        self.line = self.line or line
