"""Which processes are a deployment's: real ones, found by the shell functions that `stop` uses too."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inventory.facts.gather import piece

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
Start = Callable[..., int]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start `sleep` in a session of its own; with a deployment in its environment if one is given."""
    running: list[subprocess.Popen[bytes]] = []

    def start_one(deployment: str | None = None, command: str = "sleep 60") -> int:
        environment = {
            **os.environ,
            **({"BRINGUP_DEPLOYMENT": f"{tmp_path}/deployments/{deployment}"} if deployment else {}),
        }
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"echo started; exec {command}"],
            env=environment,
            start_new_session=True,
            stdout=subprocess.PIPE,
        )
        running.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process.pid

    yield start_one
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def found(tmp_path: Path) -> Callable[[str, str], list[int]]:
    def run(name: str, generation: str) -> list[int]:
        functions = piece("sh/process") + piece("sh/deployment_processes")
        text = f"set -eu\nstate_dir={tmp_path}\n{functions}\ndeployment_processes {name} {generation}"
        done = subprocess.run(["/bin/sh", "-c", text], check=True, capture_output=True, text=True, timeout=30)
        assert done.stderr == ""
        return [int(pid) for pid in done.stdout.split()]

    return run


def record(state_dir: Path, pid: int, *, started: str | None = None, boot: str = BOOT) -> None:
    folder = state_dir / "deployments" / "v4" / "g1"
    folder.mkdir(parents=True)
    (folder / "record").write_text(f"{pid} {started or start_time(pid)} {boot}\n")


def start_time(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def test_by_the_environment(start: Start, found: Callable[[str, str], list[int]]) -> None:
    pid = start("v4/g1")
    start("v4/g12")
    start("other-v4/g1")
    start()
    assert found("v4", "g1") == [pid]


def test_by_the_session_of_the_recorded_process(
    start: Start, found: Callable[[str, str], list[int]], tmp_path: Path
) -> None:
    """A process that renamed itself has lost its environment; its children stay in the session."""
    leader = start(None, "sh -c 'sleep 60 & echo up; wait'")
    record(tmp_path, leader)
    members = found("v4", "g1")
    assert leader in members
    assert all(os.getsid(pid) == leader for pid in members)


def test_a_dead_leader_leaves_its_session(start: Start, found: Callable[[str, str], list[int]], tmp_path: Path) -> None:
    leader = start(None, "sh -c 'sleep 60 & read go'")
    record(tmp_path, leader)
    before = found("v4", "g1")
    os.kill(leader, 9)
    os.waitpid(leader, 0)
    after = found("v4", "g1")
    assert after == [pid for pid in before if pid != leader]


@pytest.mark.parametrize("stale", [{"started": "1"}, {"boot": "another-boot"}])
def test_a_stale_record_names_nobody(
    start: Start, found: Callable[[str, str], list[int]], tmp_path: Path, stale: dict[str, str]
) -> None:
    record(tmp_path, start(), **stale)
    assert found("v4", "g1") == []


@pytest.mark.parametrize("text", ["", "x y z\n", "1\n", "-1 1 1\n"])
def test_a_damaged_record_names_nobody(found: Callable[[str, str], list[int]], tmp_path: Path, text: str) -> None:
    folder = tmp_path / "deployments" / "v4" / "g1"
    folder.mkdir(parents=True)
    (folder / "record").write_text(text)
    assert found("v4", "g1") == []


def test_none_is_told_twice(start: Start, found: Callable[[str, str], list[int]], tmp_path: Path) -> None:
    pid = start("v4/g1")
    record(tmp_path, pid)
    assert found("v4", "g1") == [pid]
