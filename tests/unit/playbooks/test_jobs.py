"""Detached jobs in a real shell: events, exit records, a follower that is killed, a process that only looks alike."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inventory.recorded import PROCESS_FUNCTIONS
from playbooks.joblist import ListedJob, read_jobs
from playbooks.jobs import follow_script, listed_jobs_script, start_script
from playbooks.phase_script import phase_script
from playbooks.plan import Action, Change, Phase
from tests.unit.playbooks.sh import sh


def change(tmp_path: Path, name: str, script: str, *, before: str = "absent", after: str = "there") -> Change:
    target = tmp_path / name
    return Change(
        id=name,
        host="h",
        phase=Phase.PROVISION,
        action=Action.CREATE,
        summary=f"make {name}\nsecond line $(touch {tmp_path}/injected)",
        why="test",
        probe=f"if [ -e '{target}' ]; then printf there; else printf absent; fi",
        before=before,
        after=after,
        script=script,
        sudo=False,
        deadline_s=10,
    )


def run(tmp_path: Path, *changes: Change) -> subprocess.CompletedProcess[str]:
    return sh(start_script("j", phase_script(changes), state_dir=str(tmp_path)))


def events(completed: subprocess.CompletedProcess[str]) -> list[list[str]]:
    return [line.split("\t") for line in completed.stdout.splitlines() if line]


def test_changes_are_made_in_order_and_reported(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        change(tmp_path, "a", f"touch {tmp_path}/a"),
        change(tmp_path, "b", f"ls {tmp_path}/a && touch {tmp_path}/b"),
    )
    assert done.returncode == 0, done.stderr
    assert [(e[0], e[1]) for e in events(done)] == [
        ("begin", "0"),
        ("done", "0"),
        ("begin", "1"),
        ("done", "1"),
    ]
    assert not (tmp_path / "injected").exists()


@pytest.mark.parametrize(
    ("script", "before", "event", "detail"),
    [
        ("echo because >&2; exit 9", "absent", "failed", "9"),
        ("true", "absent", "unconverged", "absent"),
        ("true", "there", "drift", "absent"),
    ],
)
def test_the_first_change_that_goes_wrong_ends_the_job(
    tmp_path: Path, script: str, before: str, event: str, detail: str
) -> None:
    done = run(
        tmp_path,
        change(tmp_path, "a", script, before=before),
        change(tmp_path, "b", f"touch {tmp_path}/b"),
    )
    assert done.returncode != 0
    assert [one.strip() for one in events(done)[-1]] == [event, "0", detail]
    assert not (tmp_path / "b").exists()


def test_a_hanging_change_ends_at_its_deadline(tmp_path: Path) -> None:
    slow = change(tmp_path, "a", "sleep 60")
    began = time.monotonic()
    done = run(tmp_path, Change(**{**{f: getattr(slow, f) for f in slow.__slots__}, "deadline_s": 1}))
    assert [one.strip() for one in events(done)[-1]] == ["failed", "0", "124"]
    assert time.monotonic() - began < 10


def listed(tmp_path: Path) -> tuple[ListedJob, ...]:
    return read_jobs("h", sh(listed_jobs_script(state_dir=str(tmp_path))).stdout)


@contextmanager
def following(tmp_path: Path, script: str) -> Iterator[subprocess.Popen[str]]:
    """A follower of job `j`, once the job is on record."""
    job = start_script("j", phase_script([change(tmp_path, "a", script)]), state_dir=str(tmp_path))
    with subprocess.Popen(["/bin/sh", "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdin
        follower.stdin.write(job)
        follower.stdin.close()
        while not (tmp_path / "jobs/j/record").exists():
            time.sleep(0.02)
        yield follower


def test_a_job_outlives_its_follower_and_is_picked_up(tmp_path: Path) -> None:
    with following(tmp_path, f"sleep 1.5; touch {tmp_path}/a") as follower:
        follower.kill()
    assert [(job.id, job.state) for job in listed(tmp_path)] == [("j", "running")]
    done = sh(follow_script("j", state_dir=str(tmp_path)))
    assert [e[0] for e in events(done)] == ["begin", "done"]
    assert (tmp_path / "a").exists()
    (job,) = listed(tmp_path)
    assert (job.state, job.exit_status) == ("ended", 0)
    assert job.ended_ago_s in {0, 1, 2}


def test_a_killed_job_is_lost_not_done(tmp_path: Path) -> None:
    with following(tmp_path, "sleep 30") as follower:
        os.killpg(int((tmp_path / "jobs/j/record").read_text().split()[0]), signal.SIGKILL)
        assert follower.stdout
        assert "lost" in follower.stdout.read()
        assert [job.state for job in listed(tmp_path)] == ["lost"]
        assert follower.wait(10) == 6


@pytest.mark.parametrize("field", [1, 2])
def test_a_record_of_another_boot_or_start_is_not_alive(tmp_path: Path, field: int) -> None:
    start = sh(f"{PROCESS_FUNCTIONS}\nstart_time {os.getpid()}; boot_id").stdout.split()
    record = [str(os.getpid()), *start]
    (tmp_path / "record").write_text(" ".join(record) + "\n")
    script = f"{PROCESS_FUNCTIONS}\nrecorded_alive {tmp_path}/record"
    assert sh(script).returncode == 0
    record[field] = "12345" if field == 1 else "another-boot"
    (tmp_path / "record").write_text(" ".join(record) + "\n")
    assert sh(script).returncode == 1


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_a_script_that_does_not_fit_on_the_disk_is_not_run_in_part(tmp_path: Path, blocks: int) -> None:
    """A shell runs what it has read: a script that is cut off could end in the middle of a path."""
    (tmp_path / "jobs").mkdir()
    whole = f"touch {tmp_path}/first\n" + "# padding\n" * 500 + f"touch {tmp_path}/last\n"
    done = sh(f"trap '' XFSZ; ulimit -f {blocks}\n" + start_script("j", whole, state_dir=str(tmp_path)))
    assert done.returncode != 0
    assert not (tmp_path / "first").exists()


@pytest.mark.timeout(60)
def test_a_job_that_cannot_be_put_on_record_does_nothing_and_says_why(tmp_path: Path) -> None:
    """The disk fills up behind the script: an unrecorded job could not be found again, nor waited for."""
    (tmp_path / "jobs").mkdir()
    fills_up = tmp_path / "setsid"
    fills_up.write_text("#!/bin/sh\ntrap '' XFSZ; ulimit -f 0\nPATH=${PATH#*:} exec setsid \"$@\"\n")
    fills_up.chmod(0o755)
    start = start_script("j", f"touch {tmp_path}/done\n", state_dir=str(tmp_path))
    done = sh(f"PATH={tmp_path}:$PATH\n{start}")
    assert done.returncode == 1
    assert "Avail" in done.stderr, "how full the disk is"
    assert not (tmp_path / "done").exists()
