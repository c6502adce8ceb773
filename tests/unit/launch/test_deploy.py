from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.errors import CheckFailed, HostUnreachable
from launch.deploy import _refuse_left_behind
from launch.running.survey import Survey, united
from tests.unit.launch.running.test_verdict import GANG, LOST, told

FEWER = replace(GANG, members=GANG.members[:1], generation="g2")


@pytest.mark.parametrize("state", ["running", "partial", "dead"])
def test_a_layout_with_fewer_hosts_is_refused_while_the_earlier_one_is_there(state: str) -> None:
    """The hosts that are not named any more are not asked: what the others keep of the earlier layout names them."""
    seen = Survey(united({"tray1": (told(state),)}, {}), {})
    with pytest.raises(CheckFailed) as caught:
        _refuse_left_behind(FEWER, seen)
    assert "tray2" in caught.value.observed
    assert caught.value.next_command == "invoke stop --name trial --hosts tray1,tray2"


def test_behind_a_stop_any_layout_may_follow() -> None:
    _refuse_left_behind(FEWER, Survey(united({"tray1": (told("stopped"),)}, {}), {}))


def test_the_same_hosts_and_more_are_no_matter() -> None:
    _refuse_left_behind(GANG, Survey(united({"tray1": (told("running"),)}, {}), {}))
    _refuse_left_behind(GANG, Survey(united({"tray1": (told("running", "g2", FEWER),)}, {}), {}))


def test_other_names_are_no_matter() -> None:
    _refuse_left_behind(replace(FEWER, name="other"), Survey(united({"tray1": (told("running"),)}, {}), {}))


def test_a_host_that_does_not_tell_is_not_one_without_a_deployment() -> None:
    with pytest.raises(HostUnreachable):
        _refuse_left_behind(FEWER, Survey({}, {"tray1": LOST}))
