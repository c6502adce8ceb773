"""The control process is killed at any moment: nothing is lost, nothing half done is called done, and the same
command converges. `BRINGUP_SOAK=200` makes it a soak."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from launch.verbs import installing
from tests.unit.launch.installing.conftest import Operator

KILLS = int(os.environ.get("BRINGUP_SOAK", "6"))
ROOT = Path(__file__).parents[4]
COUNT = 6


def slow_book(operator: Operator, pause: float) -> None:
    """Steps that take a while, so that most kills come into the middle of one."""
    made = "".join(
        f"  - {{id: s{n}, kind: command, why: w, run: [sh, -c, 'sleep {pause}; echo {n} >>{operator.base}/log; "
        f"echo x >{operator.base}/{n}'], creates: {operator.base}/{n}}}\n"
        for n in range(COUNT)
    )
    operator.book.write_text(f"about: x\nsteps:\n{made}")


def typed(operator: Operator) -> subprocess.Popen[str]:
    words = ("install", "--hosts", "a", "--playbook", str(operator.book))
    return subprocess.Popen(
        [sys.executable, "-m", "invoke", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def done_once_each(operator: Operator) -> bool:
    return sorted((operator.base / "log").read_text().split()) == [str(n) for n in range(COUNT)]


@pytest.mark.timeout(60 + 30 * KILLS)
def test_killed_after_any_line_the_same_command_converges(operator: Operator, tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311  (which moments, not a secret)
    slow_book(operator, 0.05)
    for number in range(KILLS):
        after = chance.randrange(0, COUNT + 8)
        with typed(operator) as process:
            assert process.stderr
            for _ in range(after):
                process.stderr.readline()
            time.sleep(chance.random() * 0.1)
            process.send_signal(signal.SIGKILL)
        assert operator.install() == 0, f"kill {number}, after {after} lines"
        assert done_once_each(operator), "no change was made twice, none was left out"
        assert operator.install(dry_run=True) == 0
        shutil.rmtree(operator.base)
        shutil.rmtree(tmp_path / "a-state")
        operator.base.mkdir()


@pytest.mark.timeout(120)
def test_a_job_goes_on_without_us_is_listed_and_picked_up(
    operator: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    slow_book(operator, 1.0)
    with typed(operator) as process:
        assert process.stderr
        while "begun" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGKILL)
    assert installing.jobs(hosts="a", inventory="", running=True, json=False) == 0
    listed = capsys.readouterr().out
    assert "running" in listed
    assert "install book" in listed
    assert operator.install() == 0
    told = capsys.readouterr().err
    assert "still goes on: following it" in told
    assert f"{operator.base}/5 >" in told or "done" in told
    assert done_once_each(operator)
    installing.jobs(hosts="a", inventory="", running=False, json=False)
    assert "ended" in capsys.readouterr().out
