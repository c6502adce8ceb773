"""One command measured from outside: wall, CPU of it and all that it started, and the memory of all together."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

SAMPLE_S = 0.05


@dataclass(frozen=True, slots=True)
class Run:
    """`cpu_s`: user and system of every process that ended. `memory_bytes`: the highest sum of resident sets seen."""

    wall_s: float
    cpu_s: float
    memory_bytes: int


class CommandFailed(Exception):
    """A tool under measurement failed: its time means nothing."""


def run(argv: Sequence[str], *, env: Mapping[str, str], said: Path, timeout_s: float = 300) -> Run:
    """Run `argv` to its end, its output in the file `said`. Raises `CommandFailed`."""
    with said.open("wb") as out:
        began = time.monotonic()
        process = subprocess.Popen(argv, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        timer = threading.Timer(timeout_s, process.kill)
        timer.start()
        with _sampled(process.pid) as highest:
            _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        last = said.read_text(errors="replace")[-600:]
        raise CommandFailed(f"{argv[0]} ended with {process.returncode}: {last}")
    return Run(wall, usage.ru_utime + usage.ru_stime, max(highest, default=0))


@contextlib.contextmanager
def _sampled(pid: int) -> Iterator[list[int]]:
    """Yield a list that is filled with the resident sum of `pid` and its descendants."""
    highest: list[int] = []
    done = threading.Event()

    def sample() -> None:
        while not done.wait(SAMPLE_S):
            with contextlib.suppress(psutil.Error):
                root = psutil.Process(pid)
                highest.append(sum(map(_resident, (root, *root.children(recursive=True)))))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield highest
    finally:
        done.set()
        thread.join()


def _resident(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def in_turn(tools: Mapping[str, Callable[[], Run]], rounds: int) -> dict[str, list[Run]]:
    """Every tool once in each round, each round beginning with another one; the first round only warms up."""
    names = list(tools)
    found: dict[str, list[Run]] = {name: [] for name in names}
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            measured = tools[name]()
            if number:
                found[name].append(measured)
    return found


def table(found: Mapping[str, Sequence[Run]], base: str) -> str:
    """Medians, the least wall, and the ratios to the tool `base`."""
    lines = [f"{'tool':34} {'wall s':>7} {'least':>6} {'ratio':>6} {'cpu s':>6} {'ratio':>6} {'MiB':>5} {'ratio':>6}"]
    wall, _, cpu, memory = _of(found[base])
    for name, runs in sorted(found.items(), key=lambda one: _of(one[1])[0]):
        w, m, c, r = _of(runs)
        lines.append(
            f"{name:34} {w:7.2f} {m:6.2f} {w / wall:6.2f} {c:6.2f} {c / cpu:6.2f} {r / 2**20:5.0f} {r / memory:6.2f}"
        )
    return "\n".join(lines)


def _of(runs: Sequence[Run]) -> tuple[float, float, float, float]:
    walls = [one.wall_s for one in runs]
    return (
        statistics.median(walls),
        min(walls),
        statistics.median(one.cpu_s for one in runs),
        statistics.median(one.memory_bytes for one in runs) or 1.0,
    )
