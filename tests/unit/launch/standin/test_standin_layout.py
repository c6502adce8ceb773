from __future__ import annotations

import pytest

from launch.standin.argv import options
from launch.standin.layout import Balancing, Layout, layout_of
from launch.standin.log import Fault

HEAD = "--data-parallel-address 10.0.0.1"


def layout(words: str, *, moe: bool = True) -> Layout:
    return layout_of(options(["/m", *words.split()], {}, "0.33.0"), moe=moe)


@pytest.mark.parametrize(
    ("words", "balancing", "ranks", "served", "api_servers", "workers"),
    [
        ("", "internal", [0], [0], 1, 0),
        ("-tp 4", "internal", [0], [0], 1, 4),
        ("-dp 2", "internal", [0, 1], [0, 1], 2, 1),
        (f"-dp 4 -dpl 2 {HEAD}", "internal", [0, 1], [0, 1, 2, 3], 4, 1),
        (f"-dp 4 -dpl 2 -dpr 2 --headless {HEAD}", "internal", [2, 3], [0, 1, 2, 3], 0, 1),
        (f"-dp 4 -dpl 2 -dpr 2 -dph {HEAD}", "hybrid", [2, 3], [2, 3], 2, 1),
        (f"-dp 4 -dpl 2 -dpr 2 {HEAD}", "hybrid", [2, 3], [2, 3], 2, 1),  # a start rank means hybrid
        ("-dp 2 -dpl 2 -dph", "internal", [0, 1], [0, 1], 2, 1),  # one host: hybrid is switched off
        (f"-dp 2 -dpl 1 -dpr 1 {HEAD}", "external", [1], [1], 1, 1),  # one local rank: external
        (f"-dp 4 -dpn 3 {HEAD}", "external", [3], [3], 1, 1),
        (f"-dp 16 --nnodes 2 --node-rank 1 --headless {HEAD}", "internal", [*range(8, 16)], [*range(16)], 0, 1),
        ("-tp 8 --nnodes 2 --node-rank 1 --headless", "internal", [0], [0], 0, 4),
        (f"-dp 2 -dpl 1 --distributed-executor-backend uni {HEAD}", "internal", [0], [0, 1], 2, 0),
        (f"-dp 2 -dpl 1 --api-server-count 1 {HEAD}", "internal", [0], [0, 1], 1, 1),
    ],
)
def test_ranks_servers_and_workers(
    words: str, balancing: str, ranks: list[int], served: list[int], api_servers: int, workers: int
) -> None:
    found = layout(words)
    assert found.balancing == Balancing(balancing)
    assert (list(found.ranks), list(found.served)) == (ranks, served)
    assert (found.api_servers, found.workers) == (api_servers, workers)


def test_the_head_address_defaults_to_the_master_address() -> None:
    assert layout("-dp 2 -dpl 1").address == "127.0.0.1"
    assert layout("-dp 2 --nnodes 2 --master-addr 10.0.0.9").address == "10.0.0.9"


def test_when_ranks_step_together_and_a_coordinator_runs() -> None:
    assert layout("-dp 2").in_step
    assert not layout("-dp 2", moe=False).in_step
    assert layout("-dp 2", moe=False).coordinated
    assert not layout("").coordinated


def test_agreement_leaves_out_rank_mode_and_rpc_port() -> None:
    first = layout(f"-dp 4 -dpl 2 -dpr 0 -dph -dpp 1111 {HEAD}")
    second = layout(f"-dp 4 -dpl 2 -dpr 2 -dph -dpp 2222 {HEAD}")
    other = layout(f"-dp 4 -dpl 2 -dpr 2 -dph --enable-expert-parallel {HEAD}")
    assert first.agreement == second.agreement != other.agreement


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("-dp 4 -dpn 1 -dpr 1", "Cannot use more than one data parallel load balancing mode"),
        ("-dp 4 -dph", "`--data-parallel-hybrid-lb` requires `--data-parallel-size-local`"),
        ("-dp 4 -dpl 2 -dph --headless", "data_parallel_hybrid_lb is not applicable in headless mode"),
        ("--headless --api-server-count 1", "--api-server-count=1 cannot be used with --headless"),
        ("-dp 3 --nnodes 2", "`--nnodes 2` must evenly divide the total world size (3)"),
        ("-dp 2 -tp 8 --nnodes 4", "data-parallel ranks that span hosts is not simulated"),
        ("--grpc", "--grpc is not simulated"),
        ("-dp 2 -dpb ray", "--data-parallel-backend ray is not simulated"),
    ],
)
def test_contradictions_are_refused_in_vllms_words(words: str, text: str) -> None:
    with pytest.raises(Fault) as refused:
        layout(words)
    assert text in refused.value.text


@pytest.mark.parametrize("words", ["-dp 2 -dpn 0", "-dp 2 -dpl 1 -dph"])
def test_dense_models_have_no_external_mode(words: str) -> None:
    with pytest.raises(Fault, match="Non-MoE models do not support external data parallel mode"):
        layout(words, moe=False)
