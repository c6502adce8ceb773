"""What the stand-in does when something dies: the table of what vLLM was seen to do, row by row."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.standin.make_env import build
from tests.lab.standin_gang import DENSE, MOE, Gang, Served, all_ready, model_folder, within


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("envs") / "abc", "0.33.0")


@pytest.fixture
def gang(environment: Path, tmp_path: Path) -> Iterator[Gang]:
    with Gang(environment, tmp_path) as made:
        yield made


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    return model_folder(tmp_path / "dense", DENSE)


@pytest.fixture
def moe(tmp_path: Path) -> Path:
    return model_folder(tmp_path / "moe", MOE)


def goes_503_then_exits(head: Served, code: int = 0) -> None:
    """`/health` is 503 for a while, then the process is gone."""
    with within(10):
        while head.health() == 200:
            time.sleep(0.05)
    assert head.health() == 503
    assert head.chat()[0] == 500
    assert head.ended() == code
    assert head.processes() == {}


def test_dense_follower_dies_unnoticed_and_half_of_the_requests_hang(gang: Gang, dense: Path) -> None:
    head, follower = gang.internal(dense)
    all_ready(head)
    before = head.text()
    follower.kill_all()
    time.sleep(0.5)
    assert sorted(head.hangs() for _ in range(6)) == [False] * 3 + [True] * 3
    assert head.health() == 200
    news = [line for line in head.text()[len(before) :].splitlines() if "INFO:     127." not in line]
    assert news == []


def test_a_restarted_follower_is_never_admitted_again(gang: Gang, dense: Path) -> None:
    head, follower = gang.internal(dense)
    all_ready(head)
    follower.kill_all()
    again = gang.serve(
        1,
        dense,
        "--headless",
        "--data-parallel-start-rank",
        "1",
        *gang.shared(2, 1),
        BRINGUP_STANDIN_JOIN_TIMEOUT_S="1",
    )
    assert again.ended() == 1
    assert sorted(head.hangs() for _ in range(2)) == [False, True]


def test_moe_follower_dies_and_the_next_request_ends_the_head(gang: Gang, moe: Path) -> None:
    head, follower = gang.internal(moe, BRINGUP_STANDIN_PHASES="dead_linger=4")
    all_ready(head)
    follower.kill_all()
    time.sleep(0.5)
    assert head.health() == 200
    assert head.hangs(x_data_parallel_rank="1")  # routed to the dead rank
    assert head.health() == 200
    status, answer = head.chat(x_data_parallel_rank="0")
    assert (status, answer["error"]["type"]) == (500, "InternalServerError")
    assert "Connection closed by peer [" in head.text()
    assert "EngineCore encountered a fatal error." in head.text()
    goes_503_then_exits(head)


def test_tensor_parallel_follower_dies_and_the_next_request_ends_the_head(gang: Gang, dense: Path) -> None:
    head, follower = gang.tensor(dense, BRINGUP_STANDIN_PHASES="dead_linger=4")
    all_ready(head)
    follower.kill_all()
    time.sleep(0.5)
    assert head.health() == 200
    assert head.chat()[0] == 500
    goes_503_then_exits(head)


def test_an_engine_of_a_follower_is_killed_and_its_main_process_exits_0(gang: Gang, dense: Path) -> None:
    head, follower = gang.internal(dense)
    all_ready(head)
    time.sleep(0.5)
    os.kill(follower.pid_of("VLLM::Engine"), signal.SIGKILL)
    assert follower.ended() == 0
    assert follower.processes() == {}
    assert head.health() == 200


def test_hybrid_engine_killed_ends_its_host_at_once_and_the_other_at_its_next_request(gang: Gang, moe: Path) -> None:
    first, second = gang.hybrid(moe, 4, "--api-server-count", "1", BRINGUP_STANDIN_PHASES="dead_linger=4")
    all_ready(first, second)
    os.kill(second.pid_of("VLLM::Engine"), signal.SIGKILL)
    goes_503_then_exits(second)
    assert first.health() == 200
    assert first.chat()[0] == 500
    assert first.ended() == 0


def test_launcher_exits_1_when_its_engine_dies(gang: Gang, moe: Path) -> None:
    first, second = gang.hybrid(moe, 4)
    all_ready(first, second)
    os.kill(second.pid_of("VLLM::Engine"), signal.SIGKILL)
    assert second.ended() == 1
    assert "RuntimeError: Engine core process EngineCore_DP" in second.text()
    assert second.processes() == {}


def test_coordinator_killed_leaves_both_hosts_healthy_and_requests_hang(gang: Gang, moe: Path) -> None:
    first, second = gang.hybrid(moe, 4, "--api-server-count", "1")
    all_ready(first, second)
    os.kill(first.pid_of("VLLM::DPCoord"), signal.SIGKILL)
    assert first.hangs()
    assert second.hangs()
    assert (first.health(), second.health()) == (200, 200)
    assert (first.process.poll(), second.process.poll()) == (None, None)


def test_a_frozen_peer_hangs_until_gloo_gives_up(gang: Gang, moe: Path) -> None:
    head, follower = gang.internal(moe, "--cpu-distributed-timeout-seconds", "2")
    all_ready(head)
    for pid in follower.processes():
        os.kill(pid, signal.SIGSTOP)
    assert head.hangs(x_data_parallel_rank="0")
    assert head.health() == 200
    head.wait_for("Timed out waiting 2000ms for recv operation to complete")
    assert head.ended() == 0
    for pid in follower.processes():
        os.kill(pid, signal.SIGCONT)


def test_a_worker_killed_ends_its_engine(gang: Gang, dense: Path) -> None:
    head = gang.serve(0, dense, "--tensor-parallel-size", "2", BRINGUP_STANDIN_PHASES="dead_linger=4")
    all_ready(head)
    os.kill(head.pid_of("VLLM::Worker"), signal.SIGKILL)
    head.wait_for("died unexpectedly (exit code: -9), shutting down executor.")
    goes_503_then_exits(head)


def test_workers_do_not_outlive_a_killed_engine(gang: Gang, dense: Path) -> None:
    head = gang.serve(0, dense, "--tensor-parallel-size", "4", VLLM_KEEP_ALIVE_ON_ENGINE_DEATH="1")
    all_ready(head)
    assert len(head.processes()) == 6
    os.kill(head.pid_of("VLLM::Engine"), signal.SIGKILL)
    with within(5):
        while len(head.processes()) > 1:
            time.sleep(0.05)
    assert head.health() == 503  # and it stays: the variable keeps the API server


def test_a_client_that_goes_away_frees_its_request(gang: Gang, dense: Path) -> None:
    head = gang.serve(0, dense, BRINGUP_STANDIN_FAIL="hangs-after-ready")
    all_ready(head)
    assert head.hangs()
    running = f'vllm:num_requests_running{{engine="0",model_name="{dense}"}}'
    with within(5):
        while f"{running} 0.0" not in head.ask("GET", "/metrics")[1]:
            time.sleep(0.05)
