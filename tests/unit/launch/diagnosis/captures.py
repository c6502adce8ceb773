"""Captures for tests, put together from lines as engines print them."""

from __future__ import annotations

from collections.abc import Mapping

from launch.diagnosis.judge import Judgement, judge
from launch.diagnosis.replay import File, capture_of, host_of


def line(at: str, text: str, *, process: str = "EngineCore_DP0", pid: int = 70, level: str = "ERROR") -> str:
    return f"({process} pid={pid}) {level} 11-29 {at} [core.py:1510] {text}\n"


def begins(at: str, pid: int = 11) -> str:
    return line(at, "non-default args: {'model': '/m'}", process="APIServer", pid=pid, level="INFO")


def traceback(at: str, exception: str, *, process: str = "EngineCore_DP0", pid: int = 70) -> str:
    texts = ["EngineCore failed to start.", "Traceback (most recent call last):", '  File "/e/core.py", line 1, in run']
    return "".join(line(at, text, process=process, pid=pid) for text in (*texts, "    raise it", exception))


def wrapped(at: str) -> str:
    return traceback(at, "RuntimeError: Engine core initialization failed. See root cause above.", process="APIServer")


def judged(files: Mapping[str, str]) -> Judgement:
    """Judge texts by file name, as a folder has them."""
    hosts = {name.split("/")[0] for name in files if "/" in name}
    return judge(capture_of([File(name, host_of(name, hosts), text, cut=False) for name, text in files.items()]))


def answer(files: Mapping[str, str]) -> tuple[str, str]:
    found = judged(files)
    return found.id, found.first.host if found.first else ""
