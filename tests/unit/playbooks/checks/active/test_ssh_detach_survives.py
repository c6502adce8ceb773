"""The process that is started as ranks are: started, found and ended in a real shell, and what each answer means."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.facts.base import Maybe, Unknown, Why
from inventory.fleet import Fleet
from inventory.schema import Host
from playbooks.checks.active import ssh_detach_survives as trial
from playbooks.checks.active.base import Said
from playbooks.finding import Finding, Status
from playbooks.trials import run_trials
from tests.unit.playbooks.checks.gang import alone, tray_needs

HOST = tray_needs()
ONE = alone(HOST)


def ran(script: str | Finding) -> Said:
    assert isinstance(script, str)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=30)
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def started() -> Iterator[Said]:
    if Path("/run/systemd/system").exists():
        pytest.skip("here it would be a unit of this machine's systemd")
    said = ran(trial.listen(HOST, ONE))
    yield said
    ran(trial.hang_up(said))


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def test_it_lives_on_without_the_shell_that_started_it_and_is_ended(started: Said) -> None:
    process = trial.process_of(started)
    assert not isinstance(process, Unknown), started
    assert os.getsid(process[0]) == process[0], "a session of its own"
    looked = ran(trial.connect(HOST, ONE, {HOST.host: started}))
    assert looked.out.startswith("alive yes")
    (finding,) = trial.judge({}, {HOST.host: looked}, ONE)
    assert finding.status in {Status.PASS, Status.WARN}, finding
    ran(trial.hang_up(started))
    deadline = time.monotonic() + 5
    while state(process[0]) not in {"gone", "Z"} and time.monotonic() < deadline:
        time.sleep(0.05)
    assert state(process[0]) in {"gone", "Z"}
    assert ran(trial.connect(HOST, ONE, {HOST.host: started})).out.startswith("alive no")


def test_a_number_that_was_given_to_another_is_not_ours() -> None:
    other = Said(0, f"started {os.getpid()} 1\n")
    assert ran(trial.connect(HOST, ONE, {HOST.host: other})).out.startswith("alive no")
    ran(trial.hang_up(other))
    assert state(os.getpid()) != "gone"


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        (Said(0, "alive yes /system.slice/bringup-trial-9.service\n"), Status.PASS, "bringup-trial-9"),
        (Said(0, "alive yes \n"), Status.PASS, "no group"),
        (Said(0, "alive yes /user.slice/user-0.slice/session-4.scope\n"), Status.WARN, "belongs to the login"),
        (Said(0, "alive no \n"), Status.FAIL, "was gone"),
        (Said(127, "", "sh: cut: not found"), Status.UNKNOWN, "cut"),
        (Unknown(Why.TIMED_OUT, "no answer"), Status.UNKNOWN, "no answer"),
    ],
)
def test_what_answers_mean(said: Maybe[Said], status: Status, words: str) -> None:
    (finding,) = trial.judge({}, {"tray1": said}, ONE)
    assert (finding.status, words in finding.observed) == (status, True), finding


@pytest.mark.parametrize("said", [Said(1, "", "Failed to start transient unit"), Unknown(Why.TIMED_OUT, "late")])
def test_what_was_not_started_is_unknown(said: Maybe[Said]) -> None:
    finding = trial.connect(HOST, ONE, {HOST.host: said})
    assert isinstance(finding, Finding)
    assert finding.status is Status.UNKNOWN


def test_the_logins_really_end_in_between() -> None:
    with Fleet((Host(name="tray1", transport="local"),)) as fleet:
        before = fleet._logins
        findings = run_trials(fleet, ONE, only={trial.ID})
        assert fleet._logins is not before
    assert [finding.check for finding in findings] == [trial.ID]
    assert findings[0].status in {Status.PASS, Status.WARN}, findings
