from __future__ import annotations

import pytest

from launch.building.gang import states_ahead
from launch.running.supervise import RankState

RUNS = RankState("g1", "running")


def test_all_ranks_of_this_generation_are_left_alone() -> None:
    ahead = states_ahead("g1", {"a": RUNS, "b": RUNS}, intact=True)
    assert ahead == dict.fromkeys("ab", ("stopped", "g1 running"))


@pytest.mark.parametrize("other", [RankState("g1", "partial"), RankState("g1", "dead"), RankState("g0", "running")])
def test_one_that_is_not_as_planned_stops_and_starts_all(other: RankState) -> None:
    ahead = states_ahead("g1", {"a": RUNS, "b": other}, intact=True)
    assert ahead == {"a": ("running", "g1 stopped"), "b": (other.state, "g1 stopped")}


def test_ranks_that_were_started_from_something_else_are_no_better_than_another_generation() -> None:
    ahead = states_ahead("g1", {"a": RUNS, "b": RUNS}, intact=False)
    assert ahead == dict.fromkeys("ab", ("running", "g1 stopped"))


@pytest.mark.parametrize("state", ["stopped", "absent"])
def test_what_does_not_run_needs_no_stop(state: str) -> None:
    ahead = states_ahead("g1", {"a": RankState("", state)}, intact=True)
    assert ahead == {"a": ("stopped", "g1 stopped")}
