"""How long a phase may stand still: by time, by what computes, by what it took before. No clock but the given one."""

from __future__ import annotations

import pytest

from launch.running.history import SERVING, Entry
from launch.watching.pace import SILENT_S, STILL_S, Movement, Pace, pace_of
from launch.watching.phases import Phase


def moved(at: float = 0.0) -> Movement:
    return Movement(at, at)


def idle(at: float, *, ticks: int = 0) -> Movement:
    one = moved()
    one.computed(at - 10, ticks, "")
    one.computed(at, ticks, "0: 0 %")
    return one


@pytest.mark.parametrize("phase", [Phase.LOADING, Phase.COMPILING, Phase.CAPTURING])
def test_a_phase_that_computes_is_slow_and_not_stuck(phase: Phase) -> None:
    late = STILL_S[phase] + 1
    assert idle(late).stuck(late, phase, Pace())
    busy = moved()
    busy.computed(late - 10, 0, "")
    busy.computed(late, 500, "")
    assert busy.cores == pytest.approx(0.5)
    assert not busy.stuck(late, phase, Pace())


def test_unknown_cpu_time_is_no_proof_of_standing_still() -> None:
    late = STILL_S[Phase.LOADING] + 1
    assert not moved().stuck(late, Phase.LOADING, Pace())


def test_lines_are_a_step_where_something_is_done_and_none_while_it_waits() -> None:
    one = moved()
    one.line(100.0, Phase.LOADING)
    assert one.stands_s(100.0) == 0
    one.line(200.0, Phase.JOINING)
    assert one.stands_s(200.0) == 100
    assert one.heard_at == 200


def test_joining_ends_by_time_alone_because_followers_give_up_after_five_minutes() -> None:
    late = STILL_S[Phase.JOINING] + 1
    assert late > 300
    assert moved().stuck(late, Phase.JOINING, Pace())
    assert not moved().stuck(300.0, Phase.JOINING, Pace())


def test_who_waits_for_others_has_no_limit_of_its_own() -> None:
    assert not idle(1e6).stuck(1e6, Phase.WAITING, Pace())


def test_a_phase_that_took_long_before_may_take_long_again() -> None:
    pace = Pace(cold={Phase.LOADING.value: 2000.0})
    assert pace.still_s(Phase.LOADING) == 6000.0
    assert Pace(cold={Phase.LOADING.value: 1.0}).still_s(Phase.LOADING) == STILL_S[Phase.LOADING]


def test_silence_is_told_once_and_then_each_time_it_has_doubled() -> None:
    one, told = moved(), []
    for second in range(0, 400, 5):
        if one.is_silent(float(second)):
            one.told_s = one.stands_s(float(second))
            told.append(second)
    assert told == [SILENT_S, 2 * SILENT_S, 4 * SILENT_S, 8 * SILENT_S]
    one.step(400.0)
    assert not one.is_silent(401.0)


def test_a_watch_that_comes_late_knows_how_long_it_has_been_silent() -> None:
    one = moved(1000.0)
    one.aged(1000.0, 700.0)
    assert one.stands_s(1000.0) == 700.0
    assert "no step for 700 s, last line 700 s ago; CPU time unknown" in one.words(1000.0)


def test_what_is_expected_is_what_was_and_else_nothing() -> None:
    entry = Entry("t", "w", "r", "deploy", "g1", SERVING, 95.0, warm=False, phases={"loading weights": 60.0})
    assert pace_of((entry,), "g1").expected(Phase.LOADING) == "cold 60 s"
    assert pace_of((entry,), "g1").expected(Phase.COMPILING) == ""
    assert pace_of((), "g1") == Pace()
