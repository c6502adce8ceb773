"""What the stand-in prints of each failure that it can stage, in its own lines, is what `diagnose` names.

One process prints all of them: the traceback of the process that fails, then what engine and main process say of it.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from launch.diagnosis.judge import judge
from launch.diagnosis.replay import File, capture_of
from launch.diagnosis.table import by_message
from launch.standin.failures import FAILURES, Then

ROOT = Path(__file__).resolve().parents[4]
MARK = "=== "
PRINTS = """
import sys
from launch.standin.failures import FAILURES, Process, Then, read
from launch.standin.log import Fault, Log, traceback_of

for name, failure in FAILURES.items():
    if not failure.text:
        continue
    (injected,) = read({"BRINGUP_STANDIN_FAIL": name})
    text = injected.text(1)
    main, engine, worker = Log("APIServer"), Log("EngineCore_DP1"), Log("Worker_DP1_TP0_EP1")
    main.bare(f"=== {name}")
    main.says("api_utils.py:286", "non-default args: {'model': '/m'}")
    log = {Process.MAIN: main, Process.ENGINE: engine, Process.WORKER: worker}[failure.process]
    if failure.then in {Then.WARN, Then.HANG}:
        log.says("x.py:1", text)
        continue
    if failure.then is Then.ABORT:
        log.bare(text)
    elif failure.process is Process.MAIN:
        main.bare(text if "error: " in text else traceback_of(text))
        continue
    elif failure.process is Process.WORKER:
        worker.fails("WorkerProc failed to start.", Fault(text))
        engine.fails("EngineCore failed to start.", Fault("Exception: WorkerProc initialization failed due to an "
            "exception in a background process. See stack trace for root cause."))
    else:
        engine.fails("EngineCore failed to start.", Fault(text))
    main.bare(traceback_of("RuntimeError: Engine core initialization failed. See root cause above. "
        "Failed core proc(s): {}"))
"""
OLDER = {  # names that were there before the table
    "oom-at-load": "oom",
    "nccl-timeout": "F-WATCHDOG",
    "nccl-error": "nccl",
    "cudart-missing": "cudart_missing",
    "memory-busy": "mem_busy",
    "no-compiler": "triton_gcc",
    "illegal-access": "illegal",
    "engine-dead": "illegal",
    "cold-race": "F-CUDA-INVALID-COLD",
    "nvshmem": "F-NVSHMEM-TRANSPORT",
    "nccl-error12": "F-NCCL-TIMEOUT12",
    "nccl-stuck": "F-NCCL-STUCK-INIT",
}
STAGED = [name for name, one in FAILURES.items() if one.text]


def expected(name: str) -> str:
    message = name.replace("-", "_")
    return OLDER.get(name) or (message if message in by_message() else f"F-{name.upper()}")


@cache
def printed() -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", PRINTS],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    pieces = done.stdout.split(MARK)[1:]
    return {name: text for name, _, text in (piece.partition("\n") for piece in pieces)}


@pytest.mark.parametrize("name", STAGED)
def test_diagnose_names_what_is_staged(name: str) -> None:
    victim = (
        "(EngineCore_DP0 pid=7) ERROR 01-01 00:00:01 [core.py:1] RuntimeError: [pair.cc:547] Connection closed by peer "
        "[10.0.0.2]:3112\n"
    )
    told = printed()[name]
    clock = told.split(") INFO ", 1)[1][:14]
    files = [File("tray2.log", "tray2", told, cut=False)]
    files.append(File("tray1.log", "tray1", victim.replace("01-01 00:00:01", clock), cut=False))
    judged = judge(capture_of(files))
    assert judged.first is not None, told
    warned = FAILURES[name].then is Then.WARN  # a line only: a victim beside it says more
    seen = {
        one
        for found in ([judged.first, *judged.consequences] if warned else [judged.first])
        for one in (found.id, found.message)
    }
    assert expected(name) in seen, (judged.id, judged.first, told)
    if not warned and judged.answer == "known":
        assert judged.first.host == "tray2"
