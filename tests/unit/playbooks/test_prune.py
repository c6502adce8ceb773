"""Pruning in a real shell, on a state dir as runs leave it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from launch.pruning import told
from playbooks.prune import Pruned, prune_script, read_pruned

DAY_S = 86400


class State:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.age = 0

    def made(self, place: str, **files: str) -> Path:
        """A folder with these files; each is older than the one before."""
        path = self.folder / place
        path.mkdir(parents=True)
        for name, text in files.items():
            (path / name.replace("__", ".")).write_text(text)
        self.age += 60
        self.aged(path, self.age)
        return path

    def aged(self, path: Path, seconds: float) -> None:
        then = time.time() - seconds
        for one in (*path.iterdir(), path):
            os.utime(one, (then, then))

    def environment(self, digest: str) -> None:
        path = self.made(f"envs/{digest}")
        (path / "bringup-env.json").write_text("{}")
        self.aged(path, self.age)

    def pruned(self, **limits: int) -> tuple[Pruned, ...]:
        script = prune_script(state_dir=str(self.folder), needed=("needed0",), **limits)
        done = subprocess.run(["/bin/sh", "-eu"], input=script, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return read_pruned(done.stdout)

    def names(self, place: str) -> set[str]:
        return {one.name for one in (self.folder / place).iterdir()}


@pytest.fixture
def state(tmp_path: Path) -> State:
    folder = tmp_path / "it's a state dir"
    folder.mkdir()
    return State(folder)


def test_a_host_without_anything_has_nothing_to_prune(tmp_path: Path) -> None:
    assert State(tmp_path).pruned() == ()
    assert State(tmp_path / "nowhere").pruned() == ()


def test_of_jobs_that_ended_the_last_ones_stay_and_what_runs_stays_always(state: State) -> None:
    own = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(") ")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for number in range(4):
        state.made(f"jobs/ended{number}", exit="0")
    state.made("jobs/runs", record=f"{os.getpid()} {own} {boot}\n")
    state.made("jobs/lost", record="1 1 another-boot\n")
    long_ago = state.made("jobs/long-lost", record="1 1 another-boot\n")
    state.aged(long_ago, 40 * DAY_S)
    found = state.pruned(jobs=2)
    assert found == (Pruned("job", "ended2"), Pruned("job", "ended3"), Pruned("job", "long-lost"))
    assert state.names("jobs") == {"ended0", "ended1", "runs", "lost"}
    assert state.pruned(jobs=2) == ()


def test_the_current_generation_and_the_last_ones_stay(state: State) -> None:
    for number in range(5):
        state.made(f"deployments/d/g{number}", command__sh=f"/x/envs/env{number}/bin/vllm")
    (state.folder / "deployments/d/current").symlink_to("g4")
    assert state.pruned(generations=3) == (Pruned("generation", "d/g2"), Pruned("generation", "d/g3"))
    assert state.names("deployments/d") == {"g0", "g1", "g4", "current"}


def test_a_deployment_that_was_never_switched_to_is_left_alone(state: State) -> None:
    for number in range(5):
        state.made(f"deployments/d/g{number}")
    assert state.pruned(generations=1) == ()


def test_environments_that_a_stored_generation_or_this_run_needs_stay(state: State) -> None:
    for digest in ("new00", "new01", "old02", "used3", "needed0"):
        state.environment(digest)
    state.made("deployments/d/g1", command__sh=f"exec {state.folder}/envs/used3/bin/vllm serve")
    (state.folder / "deployments/d/current").symlink_to("g1")
    (state.folder / "envs/half-made").mkdir()
    state.made("proofs", **{"old02-abc__json": "{}", "new00-abc__json": "{}"})
    assert state.pruned(environments=2) == (Pruned("environment", "old02"),)
    assert state.names("envs") == {"new00", "new01", "used3", "needed0", "half-made"}
    assert state.names("proofs") == {"new00-abc.json"}


def test_a_pruned_generation_frees_its_environment_in_the_same_run(state: State) -> None:
    for number in range(3):
        state.made(f"deployments/d/g{number}", command__sh=f"/x/envs/env{number}/bin/vllm")
        state.environment(f"env{number}")
    (state.folder / "deployments/d/current").symlink_to("g0")
    assert state.pruned(generations=2, environments=0) == (
        Pruned("generation", "d/g2"),
        Pruned("environment", "env2"),
    )


def test_what_was_pruned_is_told_in_a_line() -> None:
    jobs = [Pruned("job", "a"), Pruned("job", "b")]
    assert told([*jobs, Pruned("generation", "d/g")]) == "2 jobs, generation d/g"
    assert told(jobs[:1]) == "1 job"
    assert told([Pruned("environment", "e")]) == "environment e"
