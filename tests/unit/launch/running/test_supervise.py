"""Start, look, stop and prove with real processes: the engine here is a shell script that forks like one."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from launch.building.command import HostCommand
from launch.building.generation import Generation
from launch.building.unit import UnitSettings, command_file
from launch.running.supervise import (
    look_script,
    read_look,
    read_state,
    read_told,
    state_step,
    stock_script,
    stop_script,
    tell_script,
)
from playbooks.plan import Phase, Step
from tests.unit.playbooks.sh import sh

NAME = "trial"
GENERATION = "abc123"
GANG = Generation(NAME, GENERATION, "r", "v", "s", "0.33.0", NAME, "none", "Hi.", 4, (), ())

ENGINE = """#!/bin/sh
echo "env: $(env | sort | tr '\\n' ' ')"
if [ "$MODE" = stubborn ]; then trap '' TERM; fi
case $MODE in *coordinator*) echo "INFO Started DP Coordinator process (PID: 7)" ;; esac
named() { ln -sf /bin/sleep "${0%/*}/$1" && "${0%/*}/$1" 302 & }
case $MODE in coordinator) named VLLM::DPCoordinator ;; esac
case $MODE in coordinator | *"that is gone") named VLLM::EngineCore ;; esac
sleep 300 & sleep 301 &
echo ready
if [ "$MODE" = dies ]; then exit 3; fi
wait
"""


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "deployments" / NAME / GENERATION
    directory.mkdir(parents=True)
    (directory.parent / "current").symlink_to(GENERATION)
    return tmp_path


def start(state_dir: Path, mode: str) -> None:
    directory = state_dir / "deployments" / NAME / GENERATION
    engine = directory / "engine"
    engine.write_text(ENGINE)
    settings = UnitSettings(NAME, GENERATION, str(directory), "root")
    command = HostCommand("h", (("MODE", mode), ("PATH", "/usr/bin:/bin")), ("/bin/sh", str(engine), "a b'$HOME"))
    (directory / "command.sh").write_text(command_file(command, settings))
    started = sh(step(state_dir, Phase.START).script)
    assert started.returncode == 0, started.stderr


def step(state_dir: Path, phase: Phase) -> Step:
    return state_step(GANG, state_dir=str(state_dir), phase=phase, deadline_s=60)


def state(state_dir: Path) -> str:
    return sh(step(state_dir, Phase.START).probe).stdout.strip()


def stop(state_dir: Path, *ports: int) -> str:
    return sh(stop_script(NAME, ports, state_dir=str(state_dir), grace_s=1), timeout=60).stdout


def wait_for(state_dir: Path, text: bytes) -> None:
    log = state_dir / "deployments" / NAME / GENERATION / "log"
    deadline = time.monotonic() + 10
    while text not in (log.read_bytes() if log.exists() else b""):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def main_pid(state_dir: Path) -> int:
    return int((state_dir / "deployments" / NAME / "current" / "record").read_text().split()[0])


def test_start_look_stop_leaves_nothing(state_dir: Path) -> None:
    assert state(state_dir) == f"{GENERATION} stopped"
    start(state_dir, "plain")
    try:
        assert state(state_dir) == f"{GENERATION} running"
        wait_for(state_dir, b"ready")
        seen = read_look(sh(look_script(NAME, 0, state_dir=str(state_dir))).stdout.encode())
        assert seen.ranks.state == "running"
        assert b"ready" in seen.piece
        assert seen.log_size == len(seen.piece)
        rest = read_look(sh(look_script(NAME, seen.log_size, state_dir=str(state_dir))).stdout.encode())
        assert rest.piece == b""
    finally:
        left = stop(state_dir)
    assert left == ""
    assert state(state_dir) == f"{GENERATION} stopped"


def test_the_environment_is_the_plan_and_nothing_else(state_dir: Path) -> None:
    start(state_dir, "plain")
    try:
        wait_for(state_dir, b"ready")
        log = (state_dir / "deployments" / NAME / GENERATION / "log").read_text()
        words = log.splitlines()[0].removeprefix("env: ").split()
        names = {word.split("=")[0] for word in words}
        assert names <= {"BRINGUP_DEPLOYMENT", "MODE", "PATH", "PWD", "OLDPWD", "_", "SHLVL"}
    finally:
        stop(state_dir)


def test_orphans_of_a_killed_main_process_are_seen_and_swept(state_dir: Path) -> None:
    start(state_dir, "plain")
    wait_for(state_dir, b"ready")
    os.kill(main_pid(state_dir), signal.SIGKILL)
    time.sleep(0.2)
    try:
        assert state(state_dir) == f"{GENERATION} partial"
    finally:
        assert stop(state_dir) == ""
    assert state(state_dir) == f"{GENERATION} stopped"


def test_ranks_that_ended_by_themselves_are_dead_not_stopped(state_dir: Path) -> None:
    start(state_dir, "dies")
    wait_for(state_dir, b"ready")
    time.sleep(0.2)
    for pid in sh(f"pgrep -s {main_pid(state_dir)}").stdout.split():
        with suppress(ProcessLookupError):  # it was about to end itself
            os.kill(int(pid), signal.SIGKILL)
    time.sleep(0.2)
    assert state(state_dir) == f"{GENERATION} dead"
    assert stop(state_dir) == ""


def test_a_main_process_that_ignores_term_is_killed(state_dir: Path) -> None:
    start(state_dir, "stubborn")
    wait_for(state_dir, b"ready")
    assert stop(state_dir) == ""
    assert state(state_dir) == f"{GENERATION} stopped"


def test_a_port_that_somebody_listens_on_is_left(state_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert stop(state_dir, port).startswith(f"port {port} is still listened on, by process {os.getpid()}: ")
    assert stop(state_dir, port) == ""


def test_states_are_read() -> None:
    assert read_state("absent\n").state == "absent"
    assert read_state("abc running").generation == "abc"
    with pytest.raises(ValueError, match="not a state line"):
        read_look(b"sh: something else\n")


def test_the_line_on_the_kv_cache_is_kept_told_and_forgotten_by_the_next_start(state_dir: Path) -> None:
    line = "INFO GPU KV cache size: 65,536 tokens, Maximum concurrency for 512 tokens per request: 128.00x"
    odd = "GPU KV cache size: 1 tokens '; touch \"$(pwd)/no\"; '\x1b[2J"
    assert sh(stock_script(NAME, [line, odd], state_dir=str(state_dir))).returncode == 0
    (told,) = read_told(sh(tell_script(state_dir=str(state_dir))).stdout, "tray1")
    assert [(one.tokens, one.context) for one in told.caches] == [(65536, 512), (1, None)]
    assert told.caches[0].line == line
    assert "\x1b" not in told.caches[1].line

    start(state_dir, "")
    (told,) = read_told(sh(tell_script(state_dir=str(state_dir))).stdout, "tray1")
    assert told.caches == ()
    stop(state_dir)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("plain", "running"),
        ("coordinator", "running"),
        ("coordinator that is gone", "partial"),
        ("coordinator, and nothing has a name of vLLM's", "running"),
    ],
)
def test_a_coordinator_that_died_as_the_ranks_got_ready_is_missed(state_dir: Path, mode: str, expected: str) -> None:
    start(state_dir, mode)
    try:
        wait_for(state_dir, b"ready")
        time.sleep(0.2)
        for _ in range(2):
            stock = sh(stock_script(NAME, [], state_dir=str(state_dir)))
            assert read_state(stock.stdout).state == expected, stock.stderr
        assert state(state_dir) == f"{GENERATION} {expected}"
    finally:
        assert stop(state_dir) == ""


def test_the_roster_is_taken_once_so_that_who_died_since_is_missed(state_dir: Path) -> None:
    start(state_dir, "coordinator")
    try:
        wait_for(state_dir, b"ready")
        time.sleep(0.2)
        assert read_state(sh(stock_script(NAME, [], state_dir=str(state_dir))).stdout).state == "running"
        children = psutil.Process(main_pid(state_dir)).children(recursive=True)
        (coordinator,) = [one for one in children if one.name().startswith("VLLM::DPCoordin")]
        coordinator.kill()
        coordinator.wait(5)
        assert read_state(sh(stock_script(NAME, [], state_dir=str(state_dir))).stdout).state == "partial"
    finally:
        assert stop(state_dir) == ""


def test_a_deployment_without_a_line_is_told_without(state_dir: Path) -> None:
    (told,) = read_told(sh(tell_script(state_dir=str(state_dir))).stdout, "tray1")
    assert (told.name, told.caches) == (NAME, ())
