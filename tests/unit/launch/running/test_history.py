"""What hosts remember of what was done with a deployment: written by the host itself, read back, united."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from launch.running.history import (
    Entry,
    Ground,
    History,
    ground_since,
    history_script,
    keep_script,
    last_good,
    read_history,
    served_script,
    united,
    usual,
)
from tests.unit.playbooks.sh import sh

DEPLOY = Entry(
    at="2026-11-30T01:00:00Z",
    who="ada@control",
    run="aaaa1111",
    verb="deploy",
    generation="g1",
    outcome="serving",
    ready_s=95.5,
    warm=False,
    phases={"loading weights": 60.0},
    note='it\'s $(touch no); "quoted"\tand a tab',
)
STOP = Entry("2026-11-30T02:00:00Z", "bob@control", "bbbb2222", "stop", "g1", "stopped")


@pytest.fixture
def state_dir(tmp_path: Path) -> str:
    (tmp_path / "deployments/trial/g1").mkdir(parents=True)
    return str(tmp_path)


def test_what_was_kept_is_told_word_for_word_with_the_ground_of_the_host(state_dir: str) -> None:
    for entry in (DEPLOY, STOP):
        done = sh(keep_script("trial", entry, state_dir=state_dir))
        assert (done.returncode, done.stderr) == (0, "")
    told = read_history(sh(history_script("trial", state_dir=state_dir)).stdout)
    assert [replace(one, ground=Ground()) for one in told.entries] == [DEPLOY, STOP]
    assert told.entries[0].ground == told.ground
    assert told.ground.kernel
    assert told.ground.boot
    assert not (Path.cwd() / "no").exists()


def test_a_host_that_never_had_the_deployment_keeps_nothing(tmp_path: Path) -> None:
    assert sh(keep_script("trial", STOP, state_dir=str(tmp_path))).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_the_history_does_not_grow_for_ever(state_dir: str) -> None:
    path = Path(state_dir, "deployments/trial/history")
    path.write_text(f"{STOP.to_line()}\tk\tb\td\n" * 400)
    sh(keep_script("trial", DEPLOY, state_dir=state_dir))
    lines = path.read_text().splitlines()
    assert len(lines) == 200
    assert "deploy" in lines[-1]


@pytest.mark.parametrize("line", ["", "{}", "[1]", "null\tk\tb\td", '{"at": 1}', DEPLOY.to_line()[:-5]])
def test_lines_that_are_not_ours_are_passed_over(line: str) -> None:
    told = read_history(f"{line}\n{STOP.to_line()}\tk\tb\t-\nnow\tk\tb\t-\n")
    assert [one.verb for one in told.entries] == ["stop"]
    assert told.ground == Ground("k", "b", "")


def test_a_run_is_told_once_and_its_worst_outcome_counts() -> None:
    failed = replace(DEPLOY, outcome="rank-failed", ready_s=None)
    told = united({"tray1": History((DEPLOY, STOP)), "tray2": History((failed,))})
    assert [(one.run, one.outcome) for one in told] == [("aaaa1111", "rank-failed"), ("bbbb2222", "stopped")]


def test_the_last_that_served_is_found_besides_the_current() -> None:
    newer = replace(DEPLOY, generation="g2", at="2026-11-30T03:00:00Z", run="cccc3333")
    broken = replace(newer, generation="g3", outcome="never-ready", run="dddd4444")
    entries = (DEPLOY, newer, broken)
    assert last_good(entries) is newer
    assert last_good(entries, besides="g2") is DEPLOY
    assert last_good((broken,)) is None


def test_cold_and_warm_times_are_kept_apart_and_never_invented() -> None:
    warm = replace(DEPLOY, warm=True, ready_s=20.0, run="cccc3333")
    unknown = replace(DEPLOY, warm=None, ready_s=30.0, run="dddd4444")
    assert usual((DEPLOY, warm), "g1") == {"cold": DEPLOY, "warm": warm}
    assert usual((unknown,), "g1") == {"last": unknown}
    assert usual((STOP,), "g1") == {}
    other = replace(warm, generation="g0")
    assert usual((other, DEPLOY), "g1")["cold"] is DEPLOY, "its own generation first"


def test_what_the_host_stands_on_is_compared_with_when_it_last_served() -> None:
    then = replace(DEPLOY, ground=Ground("6.8", "boot1", "580.1"))
    assert ground_since(History((then,), Ground("6.8", "boot1", "580.1"))) == ()
    changed = ground_since(History((then,), Ground("6.9", "boot2", "")))
    assert changed == ("rebooted since 2026-11-30T01:00:00Z", "kernel was 6.8, is 6.9")
    assert ground_since(History((STOP,), Ground("6.9", "b", "d"))) == ()


def test_a_generation_that_served_is_remembered_once(tmp_path: Path) -> None:
    (tmp_path / "deployments/trial").mkdir(parents=True)
    state_dir = str(tmp_path)
    failed = replace(DEPLOY, outcome="never-ready")
    other = replace(DEPLOY, generation="fedcba987654")
    sh(keep_script("trial", failed, state_dir=state_dir))
    for entry in (DEPLOY, DEPLOY, other, DEPLOY):
        assert sh(served_script("trial", entry, state_dir=state_dir)).returncode == 0
    told = read_history(sh(history_script("trial", state_dir=state_dir)).stdout).entries
    assert [(one.generation, one.outcome) for one in told] == [
        (DEPLOY.generation, "never-ready"),
        (DEPLOY.generation, "serving"),
        (other.generation, "serving"),
    ]
