"""What the log lines of one host's ranks say of how far they are. Pure.

Read from real logs of vLLM 0.32.0 (`tests/fixtures/logs`) and from the source of 0.33.0. A line looks like
`(EngineCore_DP0 pid=12) INFO 11-29 19:35:13 [core.py:133] Initializing ...`; tracebacks of the main process, uvicorn
and progress bars write without that head.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from launch.caches.hits import CacheHits
from launch.caches.kv_memory import is_line as is_memory_line
from launch.diagnosis.traces import FirstCause


class Role(StrEnum):
    """A headless host has engines but no API server: it never says that it is ready."""

    SERVING = "serving"
    HEADLESS = "headless"


class Phase(StrEnum):
    """How far the ranks of a host are, in the order in which they get there. The value is what an operator reads."""

    UP = "starting Python"
    CONFIGURED = "configured"
    JOINING = "joining the other ranks"
    ENGINE = "starting the engine"
    LOADING = "loading weights"
    COMPILING = "compiling"
    CACHE = "KV cache allocated"
    AUTOTUNING = "tuning kernels"
    CAPTURING = "capturing graphs"
    WAITING = "engine up, waiting for the other ranks"
    READY = "ready"
    FAILED = "failed"

    @property
    def order(self) -> int:
        return list(Phase).index(self)


MARKS: tuple[tuple[Phase, re.Pattern[str]], ...] = tuple(
    (phase, re.compile(pattern))
    for phase, pattern in (
        (Phase.CONFIGURED, r"non-default args: |Resolved architecture: "),
        (Phase.JOINING, r"Started DP Coordinator process|Launching \d+ data parallel engine\(s\) in headless mode"),
        (Phase.ENGINE, r"Initializing a V1 LLM engine"),
        (Phase.LOADING, r"Starting to load model |Loading safetensors checkpoint shards: "),
        (Phase.COMPILING, r"Using cache directory: .* for vLLM's torch\.compile|Directly load AOT compilation"),
        (Phase.CACHE, r"KV cache size: [\d,]+ tokens"),
        (Phase.AUTOTUNING, r"Autotuning process starts"),
        (Phase.CAPTURING, r"Capturing CUDA graphs"),
        (Phase.WAITING, r"init engine \(.*\) took |Waiting for READY message from DP Coordinator"),
        (Phase.READY, r"Application startup complete\.|Weight cache daemon READY: node "),
    )
)
HEAD = re.compile(
    r"\((?P<process>\S+) pid=\d+\) (?:(?P<level>[A-Z]+) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]+\] ?)?(?P<text>.*)"
)
PROGRESS = re.compile(r"(?:Loading safetensors checkpoint shards|Capturing CUDA graphs[^:]*): +(?P<percent>\d+)%")
CACHE_TOKENS = re.compile(r"KV cache size: (?P<tokens>[\d,]+) tokens")
HEADLESS_ENGINES = re.compile(r"Launching (?P<count>\d+) data parallel engine\(s\) in headless mode")
SUPERVISED, SUPERVISOR_UP = "Launching vLLM DP Servers", "Started DPSupervisor on"
"""Of several servers on one host: the first one's `Application startup complete.` says nothing of the others."""
ENGINE_UP = re.compile(r"init engine \(.*\) took ")


@dataclass(slots=True)
class Progress:
    """The reader of one host's log. `line`: the one that decided the phase. It never goes back."""

    role: Role
    phase: Phase = Phase.UP
    line: str = ""
    percent: int | None = None  # of the phase, where a progress bar tells it
    _cause: FirstCause = field(default_factory=FirstCause)
    _cache_tokens: dict[str, int] = field(default_factory=dict)  # by engine
    _cache_lines: dict[str, str] = field(default_factory=dict)
    _engines_up: set[str] = field(default_factory=set)
    _engines: int = 1
    _supervised: bool = False
    hits: CacheHits = field(default_factory=CacheHits)
    memory_lines: dict[str, str] = field(default_factory=dict)  # of each worker, with --kv-cache-memory

    def feed(self, line: str) -> None:
        """Read one line, which may hold several states of a progress bar."""
        for piece in line.split("\r"):
            self._read(piece.rstrip("\n"))

    @property
    def sentence(self) -> str:
        """The phase in words, with the percentage or the error if there is one."""
        if self.phase is Phase.FAILED:
            return f"failed: {self.error}"
        return f"{self.phase} ({self.percent} %)" if self.percent is not None else str(self.phase)

    @property
    def error(self) -> str | None:
        """The first cause of a failure. A host that still comes up may have one: only `Phase.FAILED` decides."""
        return self._cause.error

    @property
    def cause_line(self) -> str:
        """The line of the log that holds it."""
        return self._cause.line

    @property
    def kv_cache_tokens(self) -> int | None:
        """Tokens that the KV caches of this host's engines hold together."""
        return sum(self._cache_tokens.values()) or None

    @property
    def kv_cache_lines(self) -> tuple[str, ...]:
        """The line of each engine that tells so, as it was logged."""
        return tuple(self._cache_lines.values())

    def _read(self, line: str) -> None:
        match = HEAD.match(line)
        process, level, text = match.group("process", "level", "text") if match else ("", None, line)
        self._cause.feed(process, level, text)
        if self._cause.is_fatal:
            self._enter(Phase.FAILED, self._cause.line)
            return
        self._count(process, text)
        self.hits.feed(process, text)
        if is_memory_line(text):
            self.memory_lines[process] = text
        if CACHE_TOKENS.search(text):
            self._cache_lines[process] = line
        for phase, mark in MARKS:
            if mark.search(text) and not (self._supervised and phase is Phase.READY):
                self._enter(phase, line)
        if SUPERVISOR_UP in text:
            self._enter(Phase.READY, line)
        if self.role is Role.HEADLESS and self.phase is Phase.WAITING and len(self._engines_up) >= self._engines:
            self._enter(Phase.READY, line)
        if bar := PROGRESS.match(text):
            self.percent = int(bar["percent"])

    def _count(self, process: str, text: str) -> None:
        if tokens := CACHE_TOKENS.search(text):
            self._cache_tokens[process] = int(tokens["tokens"].replace(",", ""))
        self._supervised |= SUPERVISED in text
        if announced := HEADLESS_ENGINES.search(text):
            self._engines = int(announced["count"])
        if ENGINE_UP.search(text):
            self._engines_up.add(process)

    def _enter(self, phase: Phase, line: str) -> None:
        if phase.order > self.phase.order:
            self.phase, self.line, self.percent = phase, line, None


def phase_of(lines: Iterable[str], role: Role) -> Progress:
    """Read a whole log."""
    progress = Progress(role)
    for line in lines:
        progress.feed(line)
    return progress
