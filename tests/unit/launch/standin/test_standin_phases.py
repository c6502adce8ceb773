from __future__ import annotations

import pytest

from launch.standin.phases import DEFAULTS, PHASES, SPEED, Pace


def test_speed_divides_what_it_may_divide() -> None:
    slow = Pace({SPEED: "0.1"})
    assert slow.seconds("load") == pytest.approx(10 * DEFAULTS["load"])
    assert slow.seconds("ready_log") == 10


def test_single_phases_are_set_in_seconds_at_any_speed() -> None:
    pace = Pace({SPEED: "7", PHASES: "load=30, stop=0"})
    assert (pace.seconds("load"), pace.seconds("stop")) == (30, 0)


def test_a_whole_start_takes_about_a_second() -> None:
    pace = Pace({})
    start = ("config", "device", "load", "compile", "profile", "capture")
    assert 0.5 < sum(map(pace.seconds, start)) < 1.2


@pytest.mark.parametrize(
    "env",
    [{SPEED: "0"}, {SPEED: "fast"}, {SPEED: "-1"}, {SPEED: "inf"}, {PHASES: "lod=1"}, {PHASES: "load=-1"}],
)
def test_what_is_not_a_duration_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(SystemExit, match="BRINGUP_STANDIN_"):
        Pace(env)
