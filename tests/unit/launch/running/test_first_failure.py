"""What `status` says failed first, by the ends of logs: the same answer as that of `diagnose` on the same texts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from launch.building.generation import Generation, Member
from launch.running.first_failure import FirstFailure, first_failure
from launch.running.look import Look
from launch.running.survey import Deployment
from launch.running.verdict import Health, Verdict
from playbooks.finding import Finding, Status
from tests.unit.launch.diagnosis.captures import begins, judged, traceback, wrapped

HOSTS = ("tray1", "tray2", "tray3")
MEMBERS = tuple(
    Member(host, f"http://{host}:8000", at * 4, 4, "/e/bin/python", "systemd") for at, host in enumerate(HOSTS)
)
GANG = Generation("v4", "0123456789ab", "r", "v", "s", "0.33.0", "v4", "hybrid", "Hi.", 4, (), MEMBERS)
DOWN = Verdict(Health.DOWN, "the group is down", "invoke restart")
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB."
CLOSED = "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112"
ODD = "KeyError: 'model.layers.9.mlp.gate'"
VICTIM = begins("10:00:00") + traceback("10:05:02", CLOSED) + wrapped("10:05:03")


def told(logs: Mapping[str, str], verdict: Verdict = DOWN, findings: tuple[Finding, ...] = ()) -> FirstFailure | None:
    deployment = Deployment(GANG, told={}, unanswered={})
    return first_failure(deployment, {host: Look(log=text) for host, text in logs.items()}, verdict, findings)


def test_the_cause_is_named_and_not_the_victim_that_stands_before_it() -> None:
    """By the words of the first host alone it would be the closed connection."""
    logs = {"tray1": VICTIM, "tray2": begins("10:00:00") + traceback("10:05:00", OOM)}
    found, same = told(logs), judged({f"{host}/log": text for host, text in logs.items()}).first
    assert found is not None
    assert same is not None
    assert (
        (found.id, found.host, found.sentence)
        == (same.id, same.host, same.sentence)
        == ("F-CUDA-OOM", "tray2", same.sentence)
    )
    assert (found.id, found.host) == ("F-CUDA-OOM", "tray2")
    assert (found.id, found.host, found.sentence) == (same.id, same.host, same.sentence)
    assert OOM in found.line


def test_victims_alone_are_told_as_such() -> None:
    found = told({"tray1": VICTIM})
    assert found is not None
    assert (found.id, found.host) == ("F-PEER-GONE", "tray1")
    assert found.sentence.startswith("only a consequence is told: ")


def test_what_no_table_knows_is_told_in_its_own_words() -> None:
    """Of the host whose error came first, whatever the order of the hosts."""
    later = begins("10:00:00") + traceback("10:06:00", "ValueError: something else")
    assert told({"tray1": later, "tray2": begins("10:00:00") + traceback("10:05:00", ODD)}) == FirstFailure(
        "tray2", ODD, ODD
    )


def test_broken_hardware_explains_victims() -> None:
    lost = Finding("gpu.xid", Status.FAIL, "tray2", "Xid 79", "no Xid", "take it out")
    found = told({"tray1": VICTIM}, findings=(lost,))
    assert found is not None
    assert (found.id, found.host) == ("gpu.xid", "tray2")


@pytest.mark.parametrize("health", [Health.HEALTHY, Health.STOPPED])
def test_what_serves_or_was_stopped_has_no_failure(health: Health) -> None:
    assert told({"tray1": VICTIM}, Verdict(health, "x", "y")) is None


def test_a_group_of_which_no_log_is_there_has_none() -> None:
    assert told({}) is None
    assert told({"tray1": begins("10:00:00")}) is None


def test_the_table_is_read_only_where_something_is_down() -> None:
    """Nobody waits for it whose deployment serves."""
    program = (
        "import sys, launch.running.status, launch.running.answers\n"
        "print([one for one in ('launch.diagnosis.judge', 'launch.diagnosis.table') if one in sys.modules])"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "[]"
