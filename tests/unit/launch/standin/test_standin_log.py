from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest

from launch.standin.log import Fault, Log


def test_every_line_of_a_message_has_the_prefix(capfd: pytest.CaptureFixture[str]) -> None:
    Log("EngineCore_DP1").says("core.py:140", "one\ntwo")
    lines = capfd.readouterr().out.splitlines()
    pattern = rf"\(EngineCore_DP1 pid={os.getpid()}\) INFO \d\d-\d\d \d\d:\d\d:\d\d \[core\.py:140\] (one|two)"
    assert [bool(re.fullmatch(pattern, line)) for line in lines] == [True, True]


def test_a_failure_is_a_traceback_with_the_exception_last(capfd: pytest.CaptureFixture[str]) -> None:
    Log("Worker_TP0").fails("WorkerProc failed to start.", Fault("ValueError: no", "gpu_worker.py:1"))
    first, second, *_, last = capfd.readouterr().out.splitlines()
    assert " ERROR " in first
    assert first.endswith("[gpu_worker.py:1] WorkerProc failed to start.")
    assert second.endswith("Traceback (most recent call last):")
    assert last.endswith("[gpu_worker.py:1] ValueError: no")


def test_banner_and_access_lines(capfd: pytest.CaptureFixture[str]) -> None:
    log = Log("APIServer")
    log.banner()
    log.access("10.0.0.1:5", "GET /health", "200 OK")
    banner, access = capfd.readouterr().out.splitlines()
    assert "WARNING" in banner
    assert "SIMULATED" in banner
    assert access == f'(APIServer pid={os.getpid()}) INFO:     10.0.0.1:5 - "GET /health HTTP/1.1" 200 OK'


def closed_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


@pytest.mark.parametrize("output", [closed_pipe, full_disk])
def test_output_that_cannot_be_written_does_not_end_a_process(output: Callable[[], int]) -> None:
    saved, taken = os.dup(1), output()
    try:
        os.dup2(taken, 1)
        Log("APIServer").says("a.py:1", "nobody reads this")
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(taken)
