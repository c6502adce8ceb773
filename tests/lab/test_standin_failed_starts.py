"""Starts that fail, and failures that are injected by name: exit codes and the words of the real one."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.standin.failures import FAILURES, Phase, Then
from launch.standin.make_env import build
from launch.standin.messages import told
from tests.lab.standin_gang import DENSE, HTTP_PORT, MOE, RPC_PORT, Gang, all_ready, model_folder, within

ENGINE_FAILURES = Path(__file__).resolve().parents[2] / "../shared/vllm/engine-failures.json"


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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--prot", "1"], "vllm: error: unrecognized arguments: --prot"),
        (["--moe-backend", "deep_gemm_amxf4_mega_moe"], "argument --moe-backend: invalid choice: 'deep_gemm_amxf4_"),
        (["--port", "abc"], "argument --port: invalid value: 'abc'"),
    ],
)
def test_a_refused_flag_exits_2_as_argparse_does(gang: Gang, dense: Path, options: list[str], text: str) -> None:
    head = gang.serve(0, dense, *options)
    assert head.ended() == 2
    assert head.text().startswith("usage: vllm serve")
    assert text in head.text()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            ["--data-parallel-rank", "0", "--data-parallel-size", "2"],
            "Non-MoE models do not support external data parallel mode",
        ),
        (["--headless", "--api-server-count", "2"], "--api-server-count=2 cannot be used with --headless"),
        (
            ["--data-parallel-hybrid-lb", "--data-parallel-size", "2"],
            "`--data-parallel-hybrid-lb` requires `--data-parallel-size-local`",
        ),
        (["--tensor-parallel-size", "3", "--nnodes", "2"], "must evenly divide the total world size (3)"),
        (["--uds", "/tmp/x"], "SIMULATED stand-in engine: --uds is not simulated"),
        (["--tokenizer-mode", "glm5_next"], "glm5_next"),
    ],
)
def test_options_that_contradict_each_other_exit_1(gang: Gang, dense: Path, options: list[str], text: str) -> None:
    head = gang.serve(0, dense, *options)
    assert head.ended() == 1
    assert text in head.text()


def test_a_missing_model_folder(gang: Gang, tmp_path: Path) -> None:
    head = gang.serve(0, tmp_path / "absent")
    assert head.ended() == 1
    assert f"Invalid repository ID or local directory specified: '{tmp_path / 'absent'}'" in head.text()


def test_a_shard_that_was_cut(gang: Gang, dense: Path) -> None:
    (dense / "model-00002.safetensors").write_bytes(b"a")
    head = gang.serve(0, dense)
    assert head.ended() == 1
    assert "SafetensorError: Error while deserializing header: incomplete metadata, file not fully" in head.text()
    assert "Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}" in (
        head.text()
    )


def test_a_taken_http_port(gang: Gang, dense: Path) -> None:
    with socket.create_server((gang.address(0), HTTP_PORT)):
        head = gang.serve(0, dense)
        assert head.ended() == 1
    assert "OSError: [Errno 98] Address already in use" in head.text()


def test_a_taken_rpc_port_and_a_foreign_head_address(gang: Gang, dense: Path) -> None:
    with socket.create_server((gang.address(0), RPC_PORT)):
        head = gang.serve(0, dense, *gang.shared(2, 1))
        assert head.ended() == 1
    assert f"ZMQError: Address already in use (addr='tcp://{gang.address(0)}:{RPC_PORT}')" in head.text()
    foreign = ["--data-parallel-address", "192.0.2.7", "--data-parallel-size", "2", "--data-parallel-size-local", "1"]
    head = gang.serve(0, dense, *foreign)
    assert head.ended() == 1
    assert "ZMQError: Cannot assign requested address (addr='tcp://192.0.2.7:29550')" in head.text()


def test_a_follower_that_never_comes_leaves_the_head_waiting(gang: Gang, dense: Path) -> None:
    head = gang.serve(
        0,
        dense,
        "--api-server-count",
        "1",
        *gang.shared(2, 1),
        BRINGUP_STANDIN_PHASES="ready_log=0.2",
        VLLM_ENGINE_READY_TIMEOUT_S="1",  # serves only several API servers: ignored here
    )
    waiting = "Waiting for READY message from DP Coordinator..."
    with within(20):
        while head.text().count(waiting) < 12:
            assert head.process.poll() is None
            time.sleep(0.05)
    assert head.refuses()


def test_several_api_servers_give_up_after_the_ready_timeout(gang: Gang, dense: Path) -> None:
    head = gang.serve(0, dense, *gang.shared(2, 1), VLLM_ENGINE_READY_TIMEOUT_S="1")
    assert head.ended() == 1
    assert "TimeoutError: Timed out waiting for engine core processes to start." in head.text()
    assert "Frontend process failed during engine core initialization." in head.text()
    assert head.processes() == {}


def test_an_absent_head_ends_the_follower(gang: Gang, dense: Path) -> None:
    options = ["--headless", "--data-parallel-start-rank", "1", *gang.shared(2, 1)]
    follower = gang.serve(1, dense, *options, BRINGUP_STANDIN_JOIN_TIMEOUT_S="0.5")
    assert follower.ended() == 1
    assert "Did not receive response from front-end process within 5 minutes" in follower.text()


def test_an_absent_head_of_a_rank_that_spans_hosts(gang: Gang, dense: Path) -> None:
    shared = ["--tensor-parallel-size", "2", "--nnodes", "2", "--master-addr", gang.address(0)]
    follower = gang.serve(1, dense, *shared, "--node-rank", "1", "--headless", BRINGUP_STANDIN_JOIN_TIMEOUT_S="0.5")
    assert follower.ended() == 1
    assert "The client socket has timed out after 600000ms while trying to connect to" in follower.text()
    head = gang.serve(0, dense, *shared, "--node-rank", "0", BRINGUP_STANDIN_JOIN_TIMEOUT_S="0.5")
    assert head.ended() == 1
    assert "Timed out after 601 seconds waiting for clients. 1/2 clients joined." in head.text()


def test_an_interface_that_does_not_exist_ends_both_at_once(gang: Gang, dense: Path) -> None:
    together = "device=2"  # both have met before the first one dies
    head, follower = gang.internal(dense, GLOO_SOCKET_IFNAME="nope0", BRINGUP_STANDIN_PHASES=together)
    assert (head.ended(), follower.ended()) == (1, 1)
    for host in (head, follower):
        assert "Unable to find address for: nope0" in host.text()


def test_a_follower_that_is_given_the_address_of_another_host(gang: Gang, dense: Path) -> None:
    options = ["--tensor-parallel-size", "2", "--nnodes", "2", "--master-addr", gang.address(0)]
    follower = gang.serve(1, dense, *options, "--node-rank", "1", "--headless", VLLM_HOST_IP="192.0.2.7")
    assert follower.ended() == 1
    assert "ZMQError: Cannot assign requested address (addr='tcp://192.0.2.7:0')" in follower.text()


@pytest.mark.parametrize(
    ("head_more", "follower_more", "text"),
    [
        ([], [], "Remote engine 1 must use --headless unless in external or hybrid dp lb mode"),
        (
            ["--data-parallel-start-rank", "0"],
            ["--headless"],
            "Remote engine 1 must not use --headless in external or hybrid dp lb mode",
        ),
        ([], ["--headless", "--all2all-backend", "naive"], "Configuration mismatch detected for engine 1"),
    ],
)
def test_a_follower_that_does_not_fit_ends_the_head(
    gang: Gang, moe: Path, head_more: list[str], follower_more: list[str], text: str
) -> None:
    shared = gang.shared(2, 1)
    head = gang.serve(0, moe, *shared, *head_more)
    gang.serve(1, moe, "--data-parallel-start-rank", "1", *shared, *follower_more)
    assert head.ended() == 1
    assert text in head.text()


def test_a_rank_that_does_not_belong(gang: Gang, dense: Path) -> None:
    head = gang.serve(0, dense, *gang.shared(2, 1))
    gang.serve(1, dense, "--headless", "--data-parallel-start-rank", "5", *gang.shared(2, 1))
    assert head.ended() == 1
    assert "Message from engine with unexpected data parallel rank: 5" in head.text()


def test_a_failing_follower_leaves_the_head_waiting(gang: Gang, dense: Path) -> None:
    head, follower = gang.internal(dense, BRINGUP_STANDIN_FAIL="oom-at-load:9.50@1")
    assert follower.ended() == 1
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.50 GiB" in follower.text()
    assert "WorkerProc initialization failed due to an exception in a background process" in follower.text()
    head.wait_for("init engine")
    assert head.process.poll() is None
    assert head.refuses()


def test_never_joins_and_hangs_in_loading_are_silent(gang: Gang, dense: Path) -> None:
    _, follower = gang.internal(dense, BRINGUP_STANDIN_FAIL="never-joins@1")
    follower.wait_for("Launching 1 data parallel engine(s)")
    head = gang.serve(2, dense, BRINGUP_STANDIN_FAIL="hangs-in-loading")
    head.wait_for("Starting to load model")
    assert "Starting to load" not in follower.text()
    with pytest.raises(AssertionError):
        head.wait_for("Loading weights took", 1.5)


def test_refuses_flag_strikes_the_host_of_the_rank(gang: Gang, dense: Path) -> None:
    head, follower = gang.internal(dense, BRINGUP_STANDIN_FAIL="refuses-flag:--numa-bind@1")
    assert follower.ended() == 2
    assert "vllm: error: unrecognized arguments: --numa-bind" in follower.text()
    assert head.process.poll() is None


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("engine-dead", 0, "EngineCore encountered a fatal error."),
        ("dies-after-ready", 0, "engine core exited unexpectedly"),
        ("worker-killed", 0, "Worker proc VllmWorker-0 died unexpectedly (exit code: -9)"),
        ("exits-0", 0, "Application startup complete."),
    ],
)
def test_deaths_after_ready(gang: Gang, dense: Path, name: str, code: int, text: str) -> None:
    head = gang.serve(0, dense, "--tensor-parallel-size", "2", BRINGUP_STANDIN_FAIL=f"{name}@0")
    head.wait_for("Application startup complete.")
    assert head.ended() == code
    assert text in head.text()
    assert head.processes() == {}


@pytest.mark.parametrize("executor", ["mp", "uni"])
def test_nccl_timeout_at_the_first_request(gang: Gang, dense: Path, executor: str) -> None:
    size = ["--tensor-parallel-size", "2"] if executor == "mp" else []
    head = gang.serve(0, dense, *size, BRINGUP_STANDIN_FAIL="nccl-timeout@0")
    all_ready(head)
    assert head.health() == 200
    assert head.chat()[0] == 500
    assert head.ended() == 0
    assert "Watchdog caught collective operation timeout" in head.text()


@pytest.mark.parametrize("text", ["no-such-failure", "oom-at-load@x"])
def test_a_mistyped_injection_is_refused(gang: Gang, dense: Path, text: str) -> None:
    head = gang.serve(0, dense, BRINGUP_STANDIN_FAIL=text)
    assert head.ended() == 1
    assert "BRINGUP_STANDIN_FAIL: " in head.text()


AT_START = sorted(
    name
    for name, failure in FAILURES.items()
    if failure.then is Then.RAISE and failure.phase not in (Phase.PARSE, Phase.READY, Phase.REQUEST)
)


@pytest.mark.parametrize("name", AT_START)
def test_every_failure_at_start_says_its_text_and_exits_1(gang: Gang, dense: Path, moe: Path, name: str) -> None:
    only_of_experts = FAILURES[name].phase is Phase.AUTOTUNE
    head = gang.serve(0, moe if only_of_experts else dense, BRINGUP_STANDIN_FAIL=name, BRINGUP_STANDIN_SPEED="20")
    assert head.ended() == 1
    assert FAILURES[name].text.partition("{")[0] in head.text()
    assert head.processes() == {}


def test_injected_texts_are_those_of_the_table_of_engine_failures() -> None:
    if not ENGINE_FAILURES.is_file():
        pytest.skip("the table of engine failures is not beside this checkout")
    patterns = [re.compile(entry["pattern"]) for entry in json.loads(ENGINE_FAILURES.read_text())]
    theirs = {name for name, *_ in told()}  # those are held by the table of `diagnose`, which knows more
    for name, failure in FAILURES.items():
        if name in theirs:
            continue
        text = failure.text.replace("{argument}", failure.argument or "0").replace("{rank}", "0")
        assert not text or any(pattern.search(text) for pattern in patterns), name


def test_several_engines_of_one_host_fail_and_the_head_names_one(gang: Gang, moe: Path) -> None:
    first, _ = gang.hybrid(moe, 4, BRINGUP_STANDIN_FAIL="oom-at-load@1")
    assert first.ended() == 1
    assert "Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP1': 1}" in (
        first.text()
    )
    assert first.processes() == {}


def test_interrupt_is_obeyed_like_term(gang: Gang, dense: Path) -> None:
    head = gang.serve(0, dense)
    all_ready(head)
    head.process.send_signal(signal.SIGINT)
    assert head.ended() == 0
    assert head.processes() == {}
