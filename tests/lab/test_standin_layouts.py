"""The stand-in engine over two hosts: every layout starts, joins over the network and serves."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.standin.make_env import build
from tests.lab.standin_gang import (
    DENSE,
    MASTER_PORT,
    MOE,
    RPC_PORT,
    Gang,
    all_ready,
    members,
    model_folder,
    within,
)


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


def listening(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def test_one_host_serves(gang: Gang, dense: Path) -> None:
    head = gang.serve(0, dense)
    all_ready(head)
    status, answer = head.chat()
    assert status == 200
    assert answer["choices"][0]["message"]["content"].startswith("SIMULATED")
    assert len(head.processes()) == 2  # the API server and its engine


def test_internal_ports_and_phases_in_order(gang: Gang, dense: Path) -> None:
    head, follower = gang.internal(dense, BRINGUP_STANDIN_PHASES="load=1.5")
    head.wait_for("Starting to load model")
    assert head.refuses()
    assert listening(gang.address(0), RPC_PORT)
    all_ready(head)
    assert not listening(gang.address(0), RPC_PORT)
    assert head.health() == 200
    assert [head.chat()[0] for _ in range(4)] == [200] * 4
    assert follower.refuses()
    order = [
        "SIMULATED stand-in engine",
        "non-default args: {",
        "Resolved architecture: LlamaForCausalLM",
        "Using max model len 2048",
        "Started DP Coordinator process",
        "Initializing a V1 LLM engine (v0.33.0) with config:",
        "Loading safetensors checkpoint shards:  50%",
        "Loading weights took",
        "Model loading took",
        "Using cache directory:",
        "torch.compile took",
        "Available KV cache memory:",
        "GPU KV cache size: 32,768 tokens, Maximum concurrency for 2,048 tokens per request: 16.00x",
        "Capturing CUDA graphs (decode, FULL):  50%",
        "Graph capturing finished in",
        "`--kv-cache-memory=",
        "init engine (profile, create kv cache, warmup model) took",
        "Starting vLLM server on http://",
        "Application startup complete.",
    ]
    places = [head.text().index(text) for text in order]
    assert places == sorted(places)
    assert re.search(r"\(APIServer pid=\d+\) INFO \d\d-\d\d \d\d:\d\d:\d\d \[\w+\.py:\d+\] ", head.text())
    assert "Launching 1 data parallel engine(s) in headless mode, with head node address tcp://" in follower.text()
    assert "SIMULATED" in follower.text()


def test_internal_defaults_to_one_api_server_for_each_rank(gang: Gang, dense: Path) -> None:
    shared = gang.shared(2, 1)
    head = gang.serve(0, dense, *shared)
    gang.serve(1, dense, "--headless", "--data-parallel-start-rank", "1", *shared)
    all_ready(head)
    assert sorted(name for name in head.processes().values() if "API" in name) == ["VLLM::APIServer"] * 2
    assert [head.chat()[0] for _ in range(4)] == [200] * 4


def test_hybrid_eight_ranks_answer_at_both_endpoints(gang: Gang, moe: Path) -> None:
    first, second = gang.hybrid(moe, 8, "--enable-expert-parallel")
    all_ready(first, second)
    for host in (first, second):
        for rank in range(4):
            assert host.chat(x_data_parallel_rank=str(rank))[0] == 200
        _, page = host.ask("GET", "/metrics")
        own = range(4) if host is first else range(4, 8)
        assert all(f'vllm:request_success_total{{engine="{rank}"' in page for rank in own)
    # a launcher, 4 engines, 4 workers, 4 API servers, and beside rank 0 the coordinator
    assert (len(first.processes()), len(second.processes())) == (14, 13)
    assert listening(gang.address(0), RPC_PORT) is False
    assert "Worker_DP7_EP7" in second.text()


def test_external_one_process_for_each_rank(gang: Gang, moe: Path) -> None:
    shared = ["--data-parallel-size", "2", "--data-parallel-address", gang.address(0)]
    first = gang.serve(0, moe, *shared, "--data-parallel-rank", "0")
    second = gang.serve(1, moe, *shared, "--data-parallel-rank", "1")
    all_ready(first, second)
    assert (first.chat()[0], second.chat()[0]) == (200, 200)


def test_external_several_ranks_of_a_host_under_one_supervisor(gang: Gang, moe: Path) -> None:
    shared = [*gang.shared(4, 2), "--data-parallel-multi-port-external-lb", "--data-parallel-supervisor-port", "8002"]
    hosts = [gang.serve(node, moe, "--data-parallel-start-rank", str(2 * node), *shared) for node in (0, 1)]
    for host in hosts:
        host.wait_for("Started DPSupervisor on")
        for port in (8000, 8001):
            connection = http.client.HTTPConnection(host.address, port, timeout=10)
            connection.request("GET", "/metrics")
            rank = 2 * hosts.index(host) + port - 8000
            assert f'engine="{rank}"' in connection.getresponse().read().decode()
            connection.close()
        assert listening(host.address, 8002)
    hosts[1].process.send_signal(signal.SIGTERM)
    assert hosts[1].ended() == 0
    assert hosts[1].processes() == {}
    os.kill(hosts[0].pid_of("VLLM::DP1"), signal.SIGKILL)
    assert hosts[0].ended() == 0, "it ends with the first of its servers"
    assert "exited DP Servers" in hosts[0].text()


def test_tensor_parallel_over_hosts(gang: Gang, dense: Path) -> None:
    head, follower = gang.tensor(dense)
    all_ready(head)
    assert head.chat()[0] == 200
    assert listening(gang.address(0), MASTER_PORT)
    assert "Worker_TP0" in head.text()
    assert "Worker_TP1" in follower.text()
    assert f"head node address {gang.address(0)}:{MASTER_PORT} for torch.distributed" in follower.text()


def test_node_ranks_are_inferred(gang: Gang, dense: Path) -> None:
    shared = ["--data-parallel-size", "2", "--nnodes", "2", "--master-addr", gang.address(0)]
    head = gang.serve(0, dense, *shared, "--node-rank", "0", "--api-server-count", "1")
    follower = gang.serve(1, dense, *shared, "--node-rank", "1", "--headless")
    all_ready(head)
    assert [head.chat()[0] for _ in range(2)] == [200] * 2
    assert "EngineCore_DP1" in follower.text()


def test_followers_may_start_first(gang: Gang, dense: Path) -> None:
    shared = gang.shared(2, 1)
    follower = gang.serve(1, dense, "--headless", "--data-parallel-start-rank", "1", *shared)
    follower.wait_for("EngineCore_DP1")
    head = gang.serve(0, dense, *shared)
    all_ready(head)


def test_term_ends_the_head_and_leaves_a_headless_follower(gang: Gang, dense: Path) -> None:
    head, follower = gang.internal(dense)
    all_ready(head)
    head.process.send_signal(signal.SIGTERM)
    with within(3):
        assert head.ended() == 0
    assert head.processes() == {}
    assert len(follower.processes()) == 3
    follower.process.send_signal(signal.SIGTERM)
    assert follower.ended() == 0
    assert follower.processes() == {}
    assert "Shutting down." in follower.text()


def test_term_during_the_start_leaves_nothing(gang: Gang, moe: Path) -> None:
    first, second = gang.hybrid(moe, 4, BRINGUP_STANDIN_PHASES="load=60")
    for host in (first, second):
        host.wait_for("Starting to load model")
        host.process.send_signal(signal.SIGTERM)
        host.ended()
        assert host.processes() == {}


def test_kill_of_a_main_process_leaves_orphans_and_the_other_host_serving(gang: Gang, moe: Path) -> None:
    first, second = gang.hybrid(moe, 4, "--api-server-count", "1")
    all_ready(first, second)
    first.process.kill()
    first.ended()
    orphans = members(first.process.pid)
    assert sorted(orphans.values()) == [
        "VLLM::DPCoordin",
        "VLLM::EngineCor",
        "VLLM::EngineCor",
        "VLLM::Worker_DP",
        "VLLM::Worker_DP",
    ]
    assert first.refuses()
    assert [second.chat()[0] for _ in range(2)] == [200] * 2
    for pid, name in orphans.items():  # an orphan obeys TERM
        if "Worker" not in name:
            os.kill(pid, signal.SIGTERM)
    with within(10):
        while members(first.process.pid):
            time.sleep(0.05)
