from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.errors import ChangeFailed
from inventory.lab import process
from inventory.lab.process import Pid


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as running:
        yield running
        running.kill()


def test_output_of_a_program_that_worked() -> None:
    assert process.run(["sh", "-c", "cat; echo done"], stdin="given\n") == "given\ndone\n"


def test_programs_run_without_the_callers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    assert "secret" not in process.run(["env"])


def test_a_failure_quotes_the_last_line_that_tells_something() -> None:
    said = "mount: x: mount failed\n       dmesg(1) may have more information after failed mount system call.\n"
    with pytest.raises(ChangeFailed) as failed:
        process.run(["sh", "-c", f"printf '%s' '{said}' >&2; exit 3"])
    assert failed.value.observed == "mount: x: mount failed"


def test_a_failure_without_words() -> None:
    with pytest.raises(ChangeFailed) as failed:
        process.run(["false"])
    assert failed.value.observed == "exit status 1"


def test_a_program_that_does_not_end() -> None:
    with pytest.raises(ChangeFailed, match="sleep 30") as failed:
        process.run(["sleep", "30"], timeout_s=0.2)
    assert failed.value.observed == "no end after 0.2 s"


def test_kill_waits_until_it_is_gone(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    pid = Pid.of(sleeper.pid)
    assert pid is not None
    pid.write(tmp_path / "pid")
    assert Pid.read(tmp_path / "pid") == pid
    process.kill(pid)
    assert Pid.of(sleeper.pid) is None  # nobody has waited for it yet: it is a zombie, and that is not running
    assert Pid.read(tmp_path / "pid") is None
    assert sleeper.wait() == -9


def test_a_later_process_with_the_same_number_is_spared(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    pid = Pid.of(sleeper.pid)
    assert pid is not None
    earlier = Pid(pid.number, pid.start - 1)
    earlier.write(tmp_path / "pid")
    assert Pid.read(tmp_path / "pid") is None
    process.kill(earlier)
    assert sleeper.poll() is None


def test_a_process_that_was_never_there(tmp_path: Path) -> None:
    assert Pid.read(tmp_path / "pid") is None
    process.kill(Pid(2**22, 1))
