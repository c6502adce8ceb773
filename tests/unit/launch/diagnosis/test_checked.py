"""Checks on the facts of a capture: what a host itself has wrong joins the judgement."""

from __future__ import annotations

from dataclasses import replace

from inventory.facts.host import Xid
from launch.diagnosis import checked
from launch.diagnosis.judge import judge
from launch.diagnosis.replay import File, capture_of
from tests.answered import facts, fixture
from tests.unit.launch.diagnosis.captures import begins, traceback

GOOD = facts(fixture("h200-hgx"))
CLOSED = "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112"


def test_a_good_host_has_no_failing_check_without_a_plan() -> None:
    told = checked.checked({"tray1": GOOD}, "demo", {})
    assert [one for one in told.findings if one.status == "fail"] == []
    assert told.not_checked == (
        "checks of tray1 that need the plan: its stored generation is not there, or another one",
    )
    assert checked.checked({}, "demo", {}) == checked.Checked()


def test_a_failing_check_answers_where_logs_tell_only_consequences() -> None:
    lost = Xid(79, "0000:18:00", 60.0, "GPU has fallen off the bus")
    found = checked.checked({"tray1": GOOD, "tray2": replace(GOOD, host="tray2", xids=(lost,))}, "demo", {}).findings
    failing = [one for one in found if one.status == "fail"]
    assert ("gpu.xid", "tray2") in {(one.check, one.host) for one in failing}
    text = begins("10:00:00") + traceback("10:05:00", CLOSED)
    capture = replace(capture_of([File("tray1.log", "tray1", text, cut=False)]), findings=tuple(failing))
    judged = judge(capture)
    assert (judged.answer, judged.confidence) == ("finding", "medium")
    assert judged.first is not None
    assert judged.first.host == "tray2"


def test_a_check_confirms_what_a_log_says() -> None:
    lost = Xid(79, "0000:18:00", 60.0, "GPU has fallen off the bus")
    failing = checked.checked({"tray1": replace(GOOD, host="tray1", xids=(lost,))}, "demo", {}).findings
    text = begins("10:00:00") + traceback("10:05:00", "torch.AcceleratorError: CUDA error: unspecified launch failure")
    judged = judge(replace(capture_of([File("tray1.log", "tray1", text, cut=False)]), findings=failing))
    assert judged.first is not None
    assert (judged.id, "gpu.xid" in judged.first.confirmed_by, judged.confidence) == ("E-GPU-LOST", True, "high")


def test_gpu_owners_are_lines_that_the_readers_know() -> None:
    for line in checked.gpu_owners(GOOD).splitlines():
        gpu, pid, memory = line.split(", ")
        assert gpu.isdecimal()
        assert pid.isdecimal()
        assert memory.endswith(" MiB")
