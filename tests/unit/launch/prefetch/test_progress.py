"""Lines for people and events for programs, from what hosts say of themselves."""

from __future__ import annotations

import json

import pytest

from launch.console.report import Report
from launch.prefetch.progress import Meter, Progress, duration, words_of
from launch.prefetch.status import read_status
from launch.spread.told import Told


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rate_and_time_left_are_of_the_last_minute() -> None:
    meter = Meter(10_000_000_000)
    assert meter.rate is None
    for second in range(0, 120, 10):
        meter.read(second * 100_000_000 if second < 60 else 6_000_000_000 + (second - 60) * 10_000_000, float(second))
    assert meter.rate == pytest.approx(20_000_000, rel=0.7)
    assert words_of(Meter(2_000_000_000, 500_000_000)) == "0.50 of 2.00 GB (25 %)"


@pytest.mark.parametrize(("seconds", "words"), [(5, "5 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations_are_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_every_host_has_a_line_and_all_together_have_one(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = Progress(Report(), json_lines=False, clock=clock)
    progress.begin({"tray1": 10**9, "tray2": 10**9}, "fetching")
    for step in (1, 2):
        clock.now += 6
        progress.heard("tray1", f"fetching: {step * 10**8} of {10**9} bytes, 0 read")
        progress.heard("tray2", f"fetching: {step * 2 * 10**8} of {10**9} bytes, 0 read")
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("  tray1: fetching 0.20 of 1.00 GB (20 %), 17 MB/s")
    assert said[-1].startswith("  total: 0.40 of 2.00 GB")
    assert not progress.heard("tray1", "some other line")


def test_events_are_json_lines_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = Progress(Report(quiet=True), json_lines=True, clock=clock)
    progress.begin({"tray1": 10**9}, "spreading")
    clock.now += 11
    progress.spread({"tray1": Told(verified=10**8), "other": Told()})
    out = capsys.readouterr()
    events = [json.loads(line) for line in out.out.splitlines()]
    assert out.err == ""
    assert {one["kind"] for one in events} == {"prefetch-event"}
    assert [(one["data"]["host"], one["data"]["bytes"]) for one in events] == [("tray1", 10**8), (None, 10**8)]


def test_the_state_of_folders_is_read_as_the_script_tells_it() -> None:
    rows = [
        "weights\ta--b/c1\tsealed\tfree\t5000\tfetching: 1 of 2 bytes, 0 read",
        "weights\ta--b/c2\topen\tlocked\t100\tfetching: 30 of 90 bytes, 0 read",
        "weights\ta--b/c3\topen\tfree\t100\t",
        "weights\ta--b/c4\topen\tfree\t100\tfetching: 30 of 90 bytes, 0 read",
        'spread\t{"folder": "/s/weights/a--b/c4"}\t{"bytes": 77}',
        "spread\tbroken\t{}",
        "something else",
    ]
    told = [(one.weights[-2:], one.state, one.there, one.total) for one in read_status("h", "\n".join(rows))]
    assert told == [
        ("c1", "complete", 5000, 5000),
        ("c2", "fetching", 30, 90),
        ("c3", "partial", 100, None),
        ("c4", "spreading", 77, 90),
    ]
