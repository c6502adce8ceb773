"""Two hosts that are this machine, with engines that print lines of real logs: watched to ready, or to the reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inventory.errors import ChangeFailed, NotServing
from inventory.fleet import Fleet
from inventory.schema import Host
from launch.building.command import HostCommand
from launch.building.generation import Generation, Member
from launch.building.unit import UnitSettings, command_file
from launch.console.report import Report
from launch.running import operate
from launch.watching.event import Event
from launch.watching.watch import watch

LOGS = Path(__file__).parents[3] / "fixtures" / "logs"
NAME, GENERATION = "trial", "abc123"
RUN = "sleep 300"
Start = Callable[..., tuple[Fleet, Generation]]


def lines(*texts: str) -> str:
    return "\n".join(f"echo {text!r}" for text in texts)


HEAD_READY = lines(
    "(APIServer pid=1) INFO 11-29 10:00:00 [utils.py:1] non-default args: {}",
    "(EngineCore_DP0 pid=2) INFO 11-29 10:00:01 [kv.py:1] CPU KV cache size: 65,536 tokens, Maximum concurrency",
    "INFO:     Application startup complete.",
)
FOLLOWER_READY = lines(
    "(MainProcess pid=1) INFO 11-29 10:00:00 [s.py:1] Launching 1 data parallel engine(s) in headless mode",
    "(EngineCore_DP1 pid=2) INFO 11-29 10:00:01 [core.py:1] init engine (profile, create kv cache) took 0.14 s",
)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    made: list[tuple[Fleet, Generation]] = []

    def start_engines(head: str, follower: str) -> tuple[Fleet, Generation]:
        hosts = [Host(name=name, transport="local", state_dir=f"{tmp_path}/{name}") for name in ("a", "b")]
        members = (
            Member("a", "http://127.0.0.1:1", 0, 1, "python3", "process-group"),
            Member("b", "", 1, 1, "python3", "process-group"),
        )
        gang = Generation(NAME, GENERATION, "r", "v", "s", "0.32.0", NAME, "internal", "Hi.", 4, (), members)
        for host, script in zip(hosts, (head, follower), strict=True):
            write_generation(host, script)
        fleet = Fleet(hosts)
        made.append((fleet, gang))
        operate.start(fleet, gang)
        return fleet, gang

    yield start_engines
    for fleet, gang in made:
        operate.stop(fleet, gang, Report(quiet=True))
        fleet.__exit__(None, None, None)


def write_generation(host: Host, script: str) -> None:
    directory = Path(host.state_dir) / "deployments" / NAME / GENERATION
    directory.mkdir(parents=True)
    (directory.parent / "current").symlink_to(GENERATION)
    (directory / "engine").write_text(f"#!/bin/sh\n{script}\n")
    command = HostCommand(host.name, (("PATH", "/usr/bin:/bin"),), ("/bin/sh", str(directory / "engine")))
    (directory / "command.sh").write_text(command_file(command, UnitSettings(NAME, GENERATION, str(directory), "root")))


def test_ready_is_every_hosts_own_line(start: Start) -> None:
    fleet, gang = start(f"{HEAD_READY}\n{RUN}", f"{FOLLOWER_READY}\n{RUN}")
    told: list[Event] = []
    ready = watch(fleet, gang, timeout_s=30, told=told.append)
    assert ready.kv_cache_tokens == {"a": 65536}
    assert "Application startup complete" in ready.decided_by["a"]
    assert "init engine" in ready.decided_by["b"]
    assert {event.host for event in told if event.what == "ready"} == {"a", "b"}


def test_the_rank_with_a_reason_is_named_before_the_head_that_merely_ended(start: Start) -> None:
    fleet, gang = start("sleep 0.3; exit 1", f"cat {LOGS}/wrong-interface-follower.log\nexit 1")
    time.sleep(1.0)
    with pytest.raises(NotServing) as caught:
        watch(fleet, gang, timeout_s=30, told=lambda *_: None)
    assert caught.value.host == "b"
    assert "Unable to find address for: nope0" in caught.value.message


def test_a_rank_that_ends_without_a_word_is_a_failure(start: Start) -> None:
    fleet, gang = start(f"{HEAD_READY}\n{RUN}", "exit 0")
    with pytest.raises(NotServing, match="without a word") as caught:
        watch(fleet, gang, timeout_s=30, told=lambda *_: None)
    assert caught.value.host == "b"


def test_the_host_that_is_least_far_is_named_when_time_is_up(start: Start) -> None:
    waiting = "(EngineCore_DP0 pid=2) INFO 11-29 10:00:01 [c.py:1] Waiting for READY message from DP Coordinator"
    fleet, gang = start(f"{lines(waiting)}\n{RUN}", RUN)
    with pytest.raises(NotServing, match="b is least far") as caught:
        watch(fleet, gang, timeout_s=1.5, told=lambda *_: None)
    assert caught.value.id == "never-ready"


def test_a_command_that_cannot_start_is_seen(start: Start, tmp_path: Path) -> None:
    fleet, gang = start(RUN, RUN)
    operate.stop(fleet, gang, Report(quiet=True))
    (tmp_path / "b" / "deployments" / NAME / GENERATION / "command.sh").write_text("exit 3\n")
    with pytest.raises(ChangeFailed, match="could not be started") as caught:
        operate.start(fleet, gang)
    assert caught.value.host == "b"
