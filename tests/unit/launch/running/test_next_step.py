"""The one proposed command: never a restart onto broken hardware, never the same failure a third time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launch.running.hardware import Hardware
from launch.running.history import SERVING, Entry
from launch.running.next_step import NextStep, duration, failed_twice, next_step
from launch.running.verdict import judge
from playbooks.finding import Finding, Status
from tests.unit.launch.running.test_verdict import BOTH, answer, deployment, told

RUNNING = deployment(tray1=told("running"), tray2=told("running"))
DEAD = deployment(tray1=told("running"), tray2=told("dead"))
STOPPED = deployment(tray1=told("stopped"), tray2=told("stopped"))
COLD = Entry("t1", "ada@c", "r1", "deploy", "g0", SERVING, 300.0, warm=False)
FAILED = replace(COLD, run="r2", generation="g1", outcome="rank-failed", ready_s=None)
BROKEN = Hardware(findings=(Finding("gpu.xid", Status.FAIL, "tray2", "Xid 79", "none", "power cycle"),))


def step(*history: Entry, hardware: Hardware | None = None, seen: object = DEAD) -> NextStep:
    answers = BOTH if seen is RUNNING else ()
    return next_step(seen, judge(seen, answers), hardware or Hardware(), history, {})  # type: ignore[arg-type]


def test_nothing_is_to_do_for_what_serves() -> None:
    assert step(seen=RUNNING).command == "nothing to do"


def test_a_group_that_is_down_is_captured_first_and_restarted_as_a_group() -> None:
    one = step(COLD)
    assert one.command.startswith("invoke restart ")
    assert "--capture" in one.before
    assert one.lines()[0].startswith("first: ")
    assert "it interrupts" in one.lines()[2]


def test_nothing_is_started_on_a_broken_host() -> None:
    one = step(COLD, hardware=BROKEN)
    assert one.command == "invoke hosts.check --hosts tray2"
    assert "restart" not in one.command


def test_after_two_failures_of_a_generation_it_is_the_one_that_served() -> None:
    again = replace(FAILED, run="r3")
    assert failed_twice((COLD, FAILED, again), "g1")
    assert step(COLD, FAILED, again).command.endswith("--to g0")
    assert step(COLD, FAILED).command.startswith("invoke restart"), "once is no pattern"
    assert step(FAILED, again).command.startswith("invoke restart"), "there is nothing to go back to"


def test_a_stopped_group_loses_nothing_by_a_start() -> None:
    one = step(seen=STOPPED)
    assert (one.before, one.command.split()[1]) == ("", "restart")


def test_a_completion_that_fails_is_looked_at_and_not_restarted_blindly() -> None:
    seen = judge(RUNNING, (BOTH[0], answer("tray2", ok=False)))
    one = next_step(RUNNING, seen, Hardware(), (), {})
    assert one.command.startswith("invoke logs")
    assert one.interrupts == "nothing"


@pytest.mark.parametrize(
    ("usual", "words"),
    [
        ({}, "how long a start takes is not known yet"),
        ({"cold": COLD, "warm": replace(COLD, ready_s=40.0)}, "the last start took 300 s cold, 40 s warm"),
    ],
)
def test_how_long_it_takes_is_what_it_took(usual: dict[str, Entry], words: str) -> None:
    assert duration(usual) == words
