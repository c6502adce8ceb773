"""Logs of several hosts as one: clocks corrected, ranks picked, chatter left out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from inventory.errors import BadInput
from launch.running.logs import heads, last, log_script, merged, moment, read_log, shown
from tests.unit.playbooks.sh import sh

NOON = 1796040000.0  # 2026-11-30T12:00:00Z


def answer(clock: float, *lines: str, zone: str = "+0000") -> bytes:
    return "\n".join([f"{clock:.3f} {zone} 100 3 g1 running", *lines, ""]).encode()


def line(process: str, at: str, text: str) -> str:
    return f"({process} pid=1) INFO 11-30 {at} [core.py:1] {text}"


HEAD = answer(NOON, line("APIServer", "11:59:50", "first"), "  goes on", line("EngineCore_DP0", "11:59:58", "third"))
# Its clock is an hour and 20 s ahead of ours: an hour of it is its time zone.
FOLLOWER = answer(NOON + 20, line("EngineCore_DP1", "13:00:15", "second"), "x NCCL INFO y", zone="+0100")


def both() -> list[str]:
    logs = {"tray1": read_log(HEAD, NOON, NOON), "tray2": read_log(FOLLOWER, NOON, NOON)}
    return [one.line.text.strip() for one in merged(logs)]


def test_lines_come_in_the_order_in_which_they_were_written() -> None:
    assert both() == ["first", "goes on", "second", "x NCCL INFO y", "third"]


def test_a_clock_that_differs_by_less_than_the_round_trip_is_left_alone() -> None:
    assert read_log(answer(NOON + 0.4), NOON, NOON + 1).clock.ahead_s == 0.0
    assert read_log(answer(NOON + 20), NOON, NOON + 1).clock.ahead_s == pytest.approx(19.5)


def test_one_rank_is_picked_with_the_lines_that_follow_it() -> None:
    logs = {"tray2": read_log(FOLLOWER, NOON, NOON), "tray1": read_log(HEAD, NOON, NOON)}
    assert [one.line.text for one in merged(logs, rank=1)] == ["second", "x NCCL INFO y"]
    assert [one.line.text for one in merged(logs, rank=0)] == ["third"]


def test_what_is_older_is_left_out_and_chatter_too() -> None:
    logs = {"tray1": read_log(HEAD, NOON, NOON), "tray2": read_log(FOLLOWER, NOON, NOON)}
    told = merged(logs, since=NOON - 6)
    assert [text.rpartition("] ")[2] for text in shown(told)] == ["second", "third"]
    assert len(list(shown(told, chatter=True))) == 3
    assert next(shown(told)).startswith("tray2 11:59:55 | ")


def test_the_last_lines_of_each_host_are_kept_in_their_order() -> None:
    logs = {"tray1": read_log(HEAD, NOON, NOON), "tray2": read_log(FOLLOWER, NOON, NOON)}
    assert [one.line.text.strip() for one in last(merged(logs), 1)] == ["x NCCL INFO y", "third"]
    assert last(merged(logs), 9) == merged(logs)


def test_a_line_without_a_time_is_as_old_as_the_one_before_it() -> None:
    access = answer(NOON, line("APIServer", "11:59:58", "begun"), '(APIServer pid=1) INFO:     "POST /v1" 200 OK')
    told = merged({"tray1": read_log(access, NOON, NOON)}, since=NOON - 6)
    assert len(last(told, 1)) == 1
    assert "POST" in last(told, 1)[0].line.raw


def test_each_host_is_headed_by_its_state_and_a_clock_that_is_wrong() -> None:
    logs = {"tray1": read_log(HEAD, NOON, NOON), "tray2": read_log(FOLLOWER, NOON, NOON)}
    assert list(heads(logs)) == [
        "tray1: running, last line 3 s ago",
        "tray2: running, last line 3 s ago, its clock is 20.0 s ahead",
    ]


def test_moments_are_read() -> None:
    assert moment("") is None
    assert moment("10m") == pytest.approx(time.time() - 600, abs=5)
    assert moment("2026-11-30T12:00:00+00:00") == NOON
    with pytest.raises(BadInput, match="--since"):
        moment("yesterday; reboot")


def test_a_host_tells_the_end_of_its_log_and_its_clock(tmp_path: Path) -> None:
    folder = tmp_path / "deployments/trial/g1"
    folder.mkdir(parents=True)
    (folder.parent / "current").symlink_to("g1")
    (folder / "log").write_text("".join(f"{number}\n" for number in range(50)))
    began = time.time()
    told = read_log(sh(log_script("trial", 3, state_dir=str(tmp_path))).stdout.encode(), began, time.time())
    assert told.text == "47\n48\n49\n"
    assert told.state == "stopped"
    assert abs(told.clock.near or 0) - time.time() < 5
    assert told.size == 140
