"""What a host that cannot be asked means for a proof, and what a restart leaves when it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from inventory.errors import BringupError, ChangeFailed, CheckFailed, HostUnreachable, NotServing
from inventory.fleet import Fleet
from inventory.transport.base import Completed
from launch.console.report import Report
from launch.running import operate
from launch.running.supervise import Told
from launch.running.survey import Deployment
from launch.watching.phases import Progress, Role
from launch.watching.watch import Watched, _look
from tests.unit.launch.running.test_verdict import GANG, LOST, deployment, told

SERVES = b'[{"ok": true, "text": "hi", "seconds": 0.1}]'
FAILS = b'[{"ok": false, "error": "timed out"}]'
Says = Callable[[str], Completed | BringupError]


def says(stdout: bytes = b"", status: int = 0) -> Completed:
    return Completed(status, stdout, b"", b"", 0.1)


class Hosts:
    """The part of a fleet that operating uses. `answer` is what a host says to a script."""

    def __init__(self, **answer: Says) -> None:
        self._answer = answer
        self.state_dirs = dict.fromkeys(answer, "/state")
        self.asked: list[tuple[str, str]] = []

    def each(self, function: Callable[[object], object], names: tuple[str, ...]) -> dict[str, object]:
        return {name: self._one(name, function) for name in names}

    all = Fleet.all

    def _one(self, name: str, function: Callable[[object], object]) -> object:
        hosts = self

        class Transport:
            host = name

            def run(self, script: str, *, timeout: float) -> Completed:  # noqa: ARG002
                hosts.asked.append((name, script))
                outcome = hosts._answer[name](script)
                if isinstance(outcome, BringupError):
                    raise outcome
                return outcome

        try:
            return function(Transport())
        except BringupError as error:
            return error


def fleet(**answer: Says) -> Fleet:
    return Hosts(**answer)  # type: ignore[return-value]


def test_a_host_that_cannot_be_asked_is_the_cause_and_not_what_the_others_then_fail_to_answer() -> None:
    with pytest.raises(HostUnreachable) as caught:
        operate.smoke(fleet(tray1=lambda _: says(FAILS), tray2=lambda _: LOST), GANG, timeout_s=1)
    assert caught.value.host == "tray2"


def test_an_endpoint_without_a_completion_is_not_serving() -> None:
    with pytest.raises(NotServing) as caught:
        operate.smoke(fleet(tray1=lambda _: says(SERVES), tray2=lambda _: says(FAILS)), GANG, timeout_s=1)
    assert caught.value.host == "tray2"


def test_an_answer_that_the_deadline_cut_off_is_unknown_and_no_bug() -> None:
    watched = {"tray1": Watched(Progress(Role.SERVING))}
    with pytest.raises(HostUnreachable) as caught:
        _look(fleet(tray1=lambda _: says(b"g1 run", 124)), watched, "trial")
    assert caught.value.id == "host-slow"


def test_a_restart_that_fails_stops_what_it_started() -> None:
    def refuses_to_start(script: str) -> Completed:
        return says(status=1) if script.rstrip().endswith("start_deployment trial") else says()

    hosts = Hosts(tray1=lambda _: says(), tray2=refuses_to_start)
    both = deployment(tray1=told("stopped"), tray2=told("stopped"))
    with pytest.raises(ChangeFailed):
        operate.restart(hosts, both, Report(quiet=True), timeout_s=1)  # type: ignore[arg-type]
    last = [(host, script) for host, script in hosts.asked[-2:] if "stop_and_prove trial" in script]
    assert {host for host, _ in last} == {"tray1", "tray2"}


@pytest.mark.parametrize("other", [{}, {"tray2": told("stopped", "g0")}])
def test_a_restart_never_starts_two_generations(other: dict[str, Told]) -> None:
    hosts = Hosts(tray1=lambda _: says(), tray2=lambda _: says())
    mixed = Deployment(GANG, {"tray1": told("running"), **other}, {})
    with pytest.raises(CheckFailed) as caught:
        operate.restart(hosts, mixed, Report(quiet=True), timeout_s=1)  # type: ignore[arg-type]
    assert caught.value.id == "generation-mixed"
    assert not hosts.asked, "nothing was stopped"


def test_a_restart_stops_what_another_layout_left_running() -> None:
    hosts = Hosts(tray1=lambda _: says(), tray2=lambda _: says(), tray3=lambda _: says(b"process 7: engine\n"))
    left = replace(deployment(tray1=told("running"), tray2=told("running")), strays={"tray3": told("running", "g0")})
    with pytest.raises(ChangeFailed) as caught:
        operate.restart(hosts, left, Report(quiet=True), timeout_s=1)  # type: ignore[arg-type]
    assert caught.value.host == "tray3"


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (b"port 8000 is still listened on, by process 7: nginx\n", "the ranks are stopped, but somebody else"),
        (b"process 7: engine\nport 8000 is still listened on, by process 7: engine\n", "the ranks are not stopped"),
    ],
)
def test_a_port_of_somebody_else_is_told_from_ranks_that_are_left(left: bytes, words: str) -> None:
    """Typing stop again frees no port of another program."""
    with pytest.raises(ChangeFailed) as caught:
        operate.stop(fleet(tray1=lambda _: says(left), tray2=lambda _: says()), GANG, Report(quiet=True))
    assert words in caught.value.message
    assert ("invoke stop" in caught.value.next_command) is ("not stopped" in words)
