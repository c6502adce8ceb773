"""Processes, GPU owners and listeners, as ps, ss and the tools of GPU vendors print them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from launch.diagnosis.capture import Capture

ENGINE = re.compile(r"VLLM::|vllm serve|vllm\.entrypoints|EngineCore|multiprocessing\.(?:spawn|resource_tracker)")
COMPILER = re.compile(r"(?:^|/| )(?:hipcc|nvcc|cicc|ptxas|ninja|cc1plus|clang(?:\+\+)?(?:-\d+)?|g\+\+|gcc)\b")
OWNER = re.compile(r"(?m)^[^\n]*?\b(?P<pid>\d{2,7}), (?P<memory>\d+ MiB)")


@dataclass(frozen=True, slots=True)
class Process:
    """`state`: R, S, D, Z, ... `percent`: of one CPU over its life. Both only where ps was asked for them."""

    pid: int
    command: str
    state: str = ""
    percent: str = ""


def running(capture: Capture, host: str) -> Iterator[Process]:
    """What ps lists: the column PID tells where the number is; without a head it is the first."""
    for text in capture.texts(host, "ps*"):
        lines = [line for line in text.splitlines() if line.strip()]
        titles = lines[0].split() if lines else []
        has_head = "PID" in titles
        column = titles.index("PID") if has_head else 0
        wide = len(titles) - 1 if has_head else 1
        for line in lines[has_head:]:
            words = line.split(None, wide)
            if len(words) > column and words[column].isdecimal():
                told = dict(zip(titles, words, strict=False)) if has_head else {}
                yield Process(int(words[column]), words[-1], told.get("STAT", ""), told.get("%CPU", ""))


def was_asked(capture: Capture, host: str) -> bool:
    return any(True for _ in capture.texts(host, "ps*"))


def engines(capture: Capture, host: str) -> tuple[Process, ...]:
    return tuple(one for one in running(capture, host) if ENGINE.search(one.command))


def at_work(capture: Capture, host: str) -> str:
    """What the engine's processes of a host do, in words: a busy one computes or spins, D waits in the driver."""
    told = [
        f"{one.command.split()[0]} (pid {one.pid}) {one.state}" + (f" {one.percent} % CPU" if one.percent else "")
        for one in engines(capture, host)
        if one.state
    ]
    return ", ".join(told[:6])


def compilers(capture: Capture, host: str) -> tuple[Process, ...]:
    return tuple(one for one in running(capture, host) if COMPILER.search(one.command))


def gpu_owners(capture: Capture, host: str) -> tuple[tuple[str, str], ...]:
    """Pid and memory of the processes that a GPU tool lists."""
    texts = capture.texts(host, "*apps*", "gpu_owners*", "*compute*")
    return tuple((match["pid"], match["memory"]) for text in texts for match in OWNER.finditer(text))


def listener(capture: Capture, host: str, port: str) -> str:
    """`name (pid N)` of the one that listens on `port`, as ss tells it."""
    for text in capture.texts(host, "ss*"):
        for line in text.splitlines():
            if re.search(rf"[:.]{re.escape(port)}\s", line) and (match := re.search(r'"([^"]+)",pid=(\d+)', line)):
                return f"{match[1]} (pid {match[2]})"
    return ""
