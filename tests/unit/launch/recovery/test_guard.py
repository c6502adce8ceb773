"""Guards of two hosts that are addresses of this machine: the real program, real sockets, ranks that are shell scripts.

What a guard decides is tried with its words to the hosts replaced; what it says over the network, with real ones.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from inventory.errors import BadInput
from inventory.secret import Secret
from launch.building.generation import Generation, Member
from launch.planned.api_key import ApiKey
from launch.recovery.guard import PROGRAMS, Supervision, alert_words, guard_steps
from playbooks.layout import Layout
from playbooks.plan import Step
from tests.unit.playbooks.sh import sh

KEY = "0123456789abcdef-planted"
HEAD, OTHER = "127.0.77.1", "127.0.77.2"


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("guard_program", PROGRAMS / "guard.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HEAD, 0))
        port: int = one.getsockname()[1]
        return port


def gang(port: int) -> Generation:
    members = (
        Member("tray1", f"http://{HEAD}:1", 0, 1, "python3", "process-group", address=HEAD),
        Member("tray2", "", 1, 1, "python3", "process-group", address=OTHER),
    )
    return Generation(
        "trial", "g1", "r", "v", "s", "0.33.0", "trial", "internal", "Hi.", 4, (), members, guard_port=port
    )


def wanted(*alert: str, every_s: float = 0.1) -> Supervision:
    return Supervision(ApiKey(Secret(KEY), "here"), alert, every_s)


def steps(root: Path, port: int, host: str, *alert: str) -> tuple[Step, ...]:
    return guard_steps(wanted(*alert), gang(port), host, Layout(str(root / host)), "root")


@pytest.fixture
def hosts(tmp_path: Path) -> tuple[Path, int]:
    """The files of both hosts, written by their own steps."""
    port = free_port()
    for host in ("tray1", "tray2"):
        folder = tmp_path / host / "deployments/trial/g1"
        folder.mkdir(parents=True)
        (folder.parent / "current").symlink_to("g1")
        for one in steps(tmp_path, port, host, "tee", str(tmp_path / "alert")):
            done = sh(one.script)
            assert done.returncode == 0, done.stderr
    return tmp_path, port


def folder_of(hosts: tuple[Path, int], host: str) -> Path:
    return hosts[0] / host / "deployments/trial/g1"


Answering = Callable[[str], Any]


@pytest.fixture
def answering(program: ModuleType, hosts: tuple[Path, int]) -> Iterator[Any]:
    """The follower's guard, as it answers."""
    guard = program.Guard(str(folder_of(hosts, "tray2")))
    with program.Server((OTHER, hosts[1]), program.Answers) as server:
        server.guard = guard
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield guard
        server.shutdown()


def test_the_key_is_in_one_file_that_only_its_user_reads(hosts: tuple[Path, int]) -> None:
    holding = [path.name for path in folder_of(hosts, "tray1").iterdir() if KEY in path.read_text()]
    assert holding == ["guard.key"]
    assert stat.S_IMODE((folder_of(hosts, "tray1") / "guard.key").stat().st_mode) == 0o600


def test_the_head_hears_the_state_of_the_other_host(
    program: ModuleType,
    hosts: tuple[Path, int],
    answering: Any,  # noqa: ANN401, ARG001
) -> None:
    head = program.Guard(str(folder_of(hosts, "tray1")))
    assert head.each("state") == {"tray1": (0, "g1 stopped"), "tray2": (0, "g1 stopped")}


def test_who_does_not_know_the_key_is_not_answered_and_not_believed(
    program: ModuleType,
    hosts: tuple[Path, int],
    answering: Any,  # noqa: ANN401
) -> None:
    stranger = program.Guard(str(folder_of(hosts, "tray1")))
    stranger.key = b"another key of the right length"
    assert stranger.each("stop")["tray2"] is None
    answering.key = stranger.key  # now the one that answers is the stranger
    assert program.Guard(str(folder_of(hosts, "tray1"))).each("state")["tray2"] is None


def test_a_question_cannot_be_asked_again(
    program: ModuleType,
    hosts: tuple[Path, int],
    answering: Any,  # noqa: ANN401, ARG001
) -> None:
    head = program.Guard(str(folder_of(hosts, "tray1")))

    def said(nonce: str | None = None) -> tuple[str, bytes]:
        with socket.create_connection((OTHER, hosts[1]), timeout=5) as connection:
            stream = connection.makefile("rwb")
            fresh = stream.readline().decode().strip()
            mac = head.sign("ask", nonce or fresh, "own", "state", "")
            stream.write(json.dumps({"verb": "state", "argument": "", "nonce": "own", "mac": mac}).encode() + b"\n")
            stream.flush()
            return fresh, stream.readline()

    first, answer = said()
    assert b"stopped" in answer
    assert said(first)[1] == b""


@pytest.mark.parametrize("argument", ["../../../x", "$(reboot)", "20260131"])
def test_only_a_moment_names_a_capture(program: ModuleType, hosts: tuple[Path, int], argument: str) -> None:
    status, _ = program.Guard(str(folder_of(hosts, "tray1"))).do("capture", argument)
    assert status == (0 if argument.isdecimal() else 2)
    assert not (hosts[0] / "x").exists()


def test_the_locks_are_those_of_the_verbs(program: ModuleType, hosts: tuple[Path, int]) -> None:
    guard = program.Guard(str(folder_of(hosts, "tray1")))
    assert guard.do("lock", "abcd1234")[0] == 0
    assert guard.do("lock", "ffff0000")[0] == 1, "somebody has it"
    owner = json.loads((hosts[0] / "tray1/lock/owner").read_text())
    assert (owner["user"], owner["run"]) == ("guard", "abcd1234")
    guard.do("unlock", "ffff0000")
    assert (hosts[0] / "tray1/lock").exists(), "it is not its own"
    guard.do("unlock", "abcd1234")
    assert not (hosts[0] / "tray1/lock").exists()


class PowerCut(Exception):
    """The guard is no more, in the middle of what it did."""


def test_a_lock_that_cannot_be_signed_is_none(
    program: ModuleType, hosts: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full takes the folder and not what is in it."""
    (tmp_path / "mv").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "mv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert program.Guard(str(folder_of(hosts, "tray1"))).do("lock", "abcd1234")[0] == program.UNSIGNED
    assert not (hosts[0] / "tray1/lock").exists()


class Words:
    """What the hosts say to a watcher, and what it asked of them."""

    def __init__(self, program: ModuleType, folder: Path) -> None:
        self.guard = program.Guard(str(folder))
        self.states: dict[str, str | None] = {"tray1": "g1 running", "tray2": "g1 running"}
        self.completes = True
        self.recovers = True
        self.stops = True
        self.locks = 0  # what `lock` ends with
        self.cut_at = ""  # the verb at which the guard itself loses its power
        self.asked: list[str] = []
        self.program = program
        self.guard.each = self.each
        self.guard.told.update(every_s=0.01, ready_s=0.2)
        self.watcher = program.Watcher(self.guard)

    def each(self, verb: str, argument: str = "") -> dict[str, tuple[int, str] | None]:  # noqa: ARG002
        self.asked.append(verb)
        if verb == self.cut_at:
            raise PowerCut
        if verb == "state":
            return {host: None if said is None else (0, said) for host, said in self.states.items()}
        if verb == "start" and self.recovers:
            self.states, self.completes = dict.fromkeys(self.states, "g1 running"), True
        said = ({"stop": 0 if self.stops else 1, "lock": self.locks}.get(verb, 0), "")
        return {host: None if state is None else said for host, state in self.states.items()}

    def boot(self) -> None:
        """The host comes back, and its guard with it."""
        self.cut_at, self.asked = "", []
        self.watcher = self.program.Watcher(self.guard)

    @property
    def acted(self) -> list[str]:
        return [verb for verb in self.asked if verb != "state"]

    def alerts(self) -> str:
        path = Path(self.guard.told["alert"][1])
        return path.read_text() if path.exists() else ""


@pytest.fixture
def words(program: ModuleType, hosts: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> Words:
    made = Words(program, folder_of(hosts, "tray1"))
    monkeypatch.setattr(program, "proof", lambda _: "" if made.completes else "http://h: timed out")
    return made


RECOVERY = ["lock", "capture", "stop", "start", "keep", "history", "unlock"]


def test_a_group_that_serves_is_left_alone(words: Words) -> None:
    assert words.watcher.once()
    assert words.acted == []


def test_a_rank_that_is_gone_restarts_the_whole_group_with_a_capture_first(words: Words) -> None:
    words.states["tray2"] = "g1 dead"
    assert words.watcher.once()
    assert words.acted == RECOVERY
    assert "restarted as a group" in words.alerts()


def test_a_completion_must_fail_twice(words: Words) -> None:
    words.completes = False
    assert words.watcher.once()
    assert words.acted == []
    assert words.watcher.once()
    assert words.acted == RECOVERY


def test_the_second_time_it_is_stopped_and_told(words: Words) -> None:
    words.states["tray2"] = "g1 partial"
    words.watcher.once()
    words.asked.clear()
    words.states["tray1"] = "g1 dead"
    assert not words.watcher.once(), "there is nothing left to guard"
    assert words.acted == ["lock", "capture", "stop", "history", "unlock"]
    assert "it is stopped now" in words.alerts()


def test_a_start_that_does_not_serve_is_stopped_again(words: Words) -> None:
    words.recovers = False
    words.states["tray2"] = "g1 dead"
    assert not words.watcher.once()
    assert words.acted == ["lock", "capture", "stop", "start", "stop", "history", "unlock"]


def test_where_no_lock_can_be_written_the_operator_is_told(words: Words, program: ModuleType) -> None:
    words.states["tray2"], words.locks = "g1 dead", program.UNSIGNED
    assert words.watcher.once()
    assert words.acted == ["lock", "unlock"]
    assert "no lock can be written on tray1, tray2" in words.alerts()


def test_what_cannot_be_stopped_everywhere_is_not_started(words: Words) -> None:
    words.stops = False
    words.states["tray2"] = "g1 dead"
    assert words.watcher.once()
    assert "start" not in words.acted
    assert "could not be stopped" in words.alerts()


def test_once_within_the_window_holds_for_a_guard_that_came_back(words: Words) -> None:
    """A start that takes its host down would be tried for ever."""
    words.states["tray2"] = "g1 dead"
    words.watcher.once()
    words.boot()
    words.states["tray1"] = "g1 dead"
    assert not words.watcher.once()
    assert "start" not in words.acted


@pytest.mark.parametrize(
    ("cut_at", "states", "then"),
    [
        ("capture", ("dead", "dead"), "serves again"),
        ("stop", ("dead", "stopped"), "serves again"),
        ("start", ("stopped", "stopped"), "it is stopped now"),
        ("keep", ("dead", "running"), "it is stopped now"),
        ("keep", ("running", "running"), "serves again"),
    ],
)
def test_a_recovery_that_broke_off_is_brought_to_its_end_and_its_locks_are_given_back(
    words: Words, cut_at: str, states: tuple[str, str], then: str
) -> None:
    words.states["tray2"] = "g1 dead"
    words.cut_at = cut_at
    words.watcher.unlock = lambda _: None
    with pytest.raises(PowerCut):
        words.watcher.once()
    words.boot()
    words.states = {"tray1": f"g1 {states[0]}", "tray2": None}
    assert words.watcher.once(), "the other one still boots"
    assert words.acted == ["unlock"], "it is asked of it until it answers"
    words.states["tray2"] = f"g1 {states[1]}"
    words.watcher.once()
    assert then in words.alerts()
    assert (words.watcher.memory.begun, words.watcher.memory.locks) == ("", [])


def test_what_an_operator_did_since_a_recovery_broke_off_counts(words: Words) -> None:
    words.states["tray2"] = "g1 dead"
    words.cut_at = "stop"
    with pytest.raises(PowerCut):
        words.watcher.once()
    words.boot()
    words.states = dict.fromkeys(words.states, "g2 running")
    assert not words.watcher.once()
    assert "stop" not in words.acted


def test_a_silent_host_is_told_once_and_nothing_is_touched(words: Words) -> None:
    """The rest alone would be a lone rank."""
    words.states["tray2"] = None
    for _ in range(5):
        assert words.watcher.once()
    assert words.acted == []
    assert words.alerts().count("no answer from tray2") == 1


def test_what_somebody_stopped_stays_stopped(words: Words) -> None:
    words.states["tray2"] = "g1 stopped"
    assert not words.watcher.once()
    assert words.acted == []


def test_another_generation_is_somebody_elses_work(words: Words) -> None:
    words.states["tray2"] = "g2 running"
    assert not words.watcher.once()


def test_while_somebody_holds_the_lock_it_waits(words: Words, hosts: tuple[Path, int]) -> None:
    (hosts[0] / "tray1/lock").mkdir()
    words.states["tray2"] = "g1 dead"
    assert words.watcher.once()
    assert words.asked == []


def test_the_alert_is_words_and_never_a_shell(hosts: tuple[Path, int]) -> None:
    assert alert_words("logger -t 'a b' $(reboot)") == ("logger", "-t", "a b", "$(reboot)")
    with pytest.raises(BadInput, match="--alert"):
        alert_words("logger 'open")
    told = json.loads((folder_of(hosts, "tray1") / "guard.json").read_text())
    assert told["alert"][0] == "tee"
    assert (told["head"], told["endpoints"]) == (True, [{"urls": f"http://{HEAD}:1", "ranks": 2}])


def test_a_unit_of_systemd_is_written_where_it_runs(tmp_path: Path) -> None:
    one = gang(1)
    one = replace(one, members=tuple(replace(member, supervisor="systemd") for member in one.members))
    names = [step.id.rpartition("/")[2] for step in guard_steps(wanted(), one, "tray1", Layout(str(tmp_path)), "ada")]
    assert "guard.service" in names


def test_the_process_runs_is_found_and_ends_with_the_ranks(hosts: tuple[Path, int]) -> None:
    """Started and stopped by the same functions that start and stop ranks."""
    from launch.running.supervise import preamble, stop_script

    state = str(hosts[0] / "tray2")
    sh(f"{preamble(state)}\nstart_guard trial\n")
    until = time.monotonic() + 20
    while "listening" not in (folder_of(hosts, "tray2") / "guard.log").read_text():
        assert time.monotonic() < until
        time.sleep(0.1)
    assert sh(f"{preamble(state)}\nguard_process trial\n").stdout.strip().isdecimal()
    left = sh(f"{preamble(state)}\nwhat_is_left trial\n").stdout
    assert "the guard of the group" in left
    assert sh(stop_script("trial", (), state_dir=state, grace_s=1), timeout=60).stdout == ""
    assert sh(f"{preamble(state)}\nguard_process trial\n").returncode == 1
