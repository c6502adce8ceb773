from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.resolve import Pool, resolve_case
from launch.vllm_args import parse
from tests.unit.launch.resolve.cases import case, recipe

HEAD, ADDRESS = "$HEAD_IP", "--data-parallel-address"


def tails(strategy: str, nodes: int, hardware: str = "gb200", **parts: Any) -> list[list[str]]:  # noqa: ANN401
    resolved = resolve_case(case(strategy, hardware, node_count=nodes, **parts))
    return [list(one.argv[3:]) for one in resolved.processes]


def test_tensor_parallel_over_nodes() -> None:
    common = ["--tensor-parallel-size", "8", "--nnodes", "2", "--node-rank"]
    assert tails("multi_node_tp", 2) == [
        [*common, "0", "--master-addr", HEAD],
        [*common, "1", "--master-addr", HEAD, "--headless"],
    ]


def test_tensor_and_pipeline_parallel_over_nodes() -> None:
    head, follower = tails("multi_node_tp_pp", 2)
    assert head[:4] == ["--tensor-parallel-size", "4", "--pipeline-parallel-size", "2"]
    assert follower[-1] == "--headless"


def test_one_replica_a_node() -> None:
    head, follower = tails("multi_node_tp_dp", 2)
    assert head[-2:] == [ADDRESS, HEAD]
    assert follower[-2:] == ["--data-parallel-start-rank", "1"]


def test_data_and_expert_parallel_over_nodes_with_hybrid_load_balancing() -> None:
    head, follower = tails("multi_node_dep", 2)
    common = ["--enable-expert-parallel", "--data-parallel-hybrid-lb", "--data-parallel-size", "8"]
    common += ["--data-parallel-size-local", "4", ADDRESS, HEAD]
    assert head == common
    assert follower == [*common, "--data-parallel-start-rank", "4"]


def test_internal_load_balancing_has_headless_followers_without_api_servers() -> None:
    head, follower = tails("multi_node_dp", 2, recipe={"model": {"base_args": ["--api-server-count", 1]}})
    assert head[:2] == ["--api-server-count", "1"]
    assert "--api-server-count" not in follower
    assert follower[-3:] == ["--data-parallel-start-rank", "4", "--headless"]


def test_restated_local_ranks_move_the_start_ranks() -> None:
    words = ["--data-parallel-size", "4", "--data-parallel-size-local", "2"]
    parts = {"strategy_overrides": {"multi_node_dep": {"extra_args": words}}}
    assert tails("multi_node_dep", 2, recipe=parts)[1][-4:] == words
    assert "2" in tails("multi_node_dep", 2, recipe=parts)[1][:8]


@pytest.mark.parametrize("strategy", ["multi_node_dep", "multi_node_tp", "single_node_dep"])
def test_on_one_node_there_is_one_process(strategy: str) -> None:
    resolved = resolve_case(case(strategy, node_count=1))
    assert [one.role for one in resolved.processes] == ["single"]
    assert "--nnodes" not in resolved.head.argv


@pytest.mark.parametrize(
    ("variant", "override", "hardware", "size"),
    [
        ({"vram_minimum_gb": 80}, {}, "h100", 1),
        ({"vram_minimum_gb": 81}, {}, "h100", 8),
        ({}, {}, "h100", 8),
        ({"vram_minimum_gb": 80, "tp": 4}, {}, "h100", 4),
        ({"tp": 16}, {}, "h100", 8),
        ({"tp": 16}, {}, "xeon", 16),
        ({"tp": {"hopper": 2, "default": 1}}, {}, "h100", 2),
        ({"tp": {"hopper": 2, "default": 1}}, {}, "gb200", 1),
        ({"tp": {"amd": 2}}, {"tp": 4}, "h100", 4),
        ({"tp": 0}, {"tp": 2}, "h100", 2),
    ],
)
def test_tensor_size_on_one_node(variant: dict[str, Any], override: dict[str, Any], hardware: str, size: int) -> None:
    parts = {"variants": {"default": variant}, "strategy_overrides": {"single_node_tp": override}}
    assert tails("single_node_tp", 1, hardware, recipe=parts) == [["--tensor-parallel-size", str(size)]]


@given(st.sampled_from(["multi_node_dep", "multi_node_dp"]), st.integers(2, 9), st.sampled_from(["h100", "gb200"]))
def test_every_rank_is_covered_exactly_once(strategy: str, nodes: int, hardware: str) -> None:
    ranks: list[int] = []
    for one in resolve_case(case(strategy, hardware, node_count=nodes)).processes:
        parsed = parse(one.argv, "0.33.0")
        first = parsed.get("data_parallel_start_rank") or 0
        ranks += range(first, first + parsed.get("data_parallel_size_local"))
        total = parsed.get("data_parallel_size")
    assert ranks == list(range(total))


@pytest.mark.parametrize(("nodes", "gpus", "halves"), [(None, 8, True), (1, 8, False), (2, 8, False)])
def test_pools_of_prefill_and_decode(nodes: int | None, gpus: int, *, halves: bool) -> None:
    pools = {} if nodes is None else {"prefill": Pool(nodes), "decode": Pool(nodes)}
    resolved = resolve_case(case("pd_cluster", pools=pools))
    assert [one.role for one in resolved.processes] == ["prefill"] * (nodes or 1) + ["decode"] * (nodes or 1)
    first, last = resolved.processes[0], resolved.processes[-1]
    seen = first.env["CUDA_VISIBLE_DEVICES"] + "," + last.env["CUDA_VISIBLE_DEVICES"]
    assert seen == ",".join(map(str, range(gpus))) if halves else len(seen.split(",")) == 2 * gpus
    assert "UCX_NET_DEVICES" not in first.env, "multi-node NVLink only exists on trays"
    assert resolved.router is not None
    assert resolved.router.argv[4:6] == ("--prefill", "http://$PREFILL_NODE_1:8001")


def test_data_parallel_pools_name_their_own_node_and_have_an_address_each() -> None:
    both = Pool(2, "dep")
    resolved = resolve_case(case("pd_cluster", "gb200", pools={"prefill": both, "decode": Pool(1, "tep")}))
    second = resolved.processes[1]
    assert second.env["HOST"] == "$PREFILL_NODE_2"
    assert second.env["UCX_NET_DEVICES"] == "all"
    parsed = parse(second.argv, "0.33.0")
    assert (parsed.get("data_parallel_size"), parsed.get("data_parallel_start_rank")) == (8, 4)
    assert parsed.get("data_parallel_hybrid_lb")
    assert resolved.router is not None
    assert [word for word in resolved.router.argv if word.startswith("http")] == [
        *("http://$PREFILL_NODE_1:8001", "http://$PREFILL_NODE_2:8001", "http://$DECODE_NODE_1:8002")
    ]


def test_pools_on_one_node_share_its_gpus() -> None:
    parts = {
        "strategy_overrides": {"pd_cluster": {"prefill": {"parallelism": "dep"}, "decode": {"parallelism": "dep"}}}
    }
    resolved = resolve_case(case("pd_cluster", recipe=parts))
    assert resolved.pools is not None
    assert (resolved.pools["prefill"].dp_size, resolved.pools["prefill"].pool_gpus) == (4, 4)
    assert {one.mark for one in resolved.defects} == {"pd_colocated_dep_counts_whole_node"}


def test_a_pool_mode_that_is_not_offered_becomes_one_that_is() -> None:
    parts = {"strategy_overrides": {"pd_cluster": {"pool_modes": ["tp"], "decode": {"parallelism": "dep"}}}}
    resolved = resolve_case(case("pd_cluster", recipe=parts))
    assert resolved.pools is not None
    assert resolved.pools["decode"].parallelism == "tp"
    assert "pd_pool_modes_not_snapped_in_meta" in {one.mark for one in resolved.defects}


def test_instances_around_a_store() -> None:
    resolved = resolve_case(case("multi_node_tp", node_count=2, kv="mooncake", instances=3))
    assert [(one.instance, one.rank) for one in resolved.processes] == [(i, r) for i in range(3) for r in range(2)]
    assert resolved.processes[3].argv[-4:-2] == ("$VLLM_INSTANCE_2", "--headless")
    assert resolved.head.env["PYTHONHASHSEED"] == "0"
    assert resolved.router is not None
    assert resolved.store is not None
    assert (resolved.router.port, resolved.store.install) == (30080, "nv")
    alone = resolve_case(case(kv="mooncake", instances=1))
    assert alone.router is None
    assert resolve_case(case(kv="mooncake")).instances == 2


def test_a_store_with_pools_replaces_their_transfer() -> None:
    resolved = resolve_case(case("pd_cluster", kv="mooncake"))
    assert resolved.processes[0].argv[-2:] == ("--kv-transfer-config", "both")
    assert "--kv-transfer-config" not in resolved.processes[1].argv
    assert resolved.store is not None
    assert resolved.store.master == "master"


def test_sizes_that_need_more_gpus_than_there_are_are_said() -> None:
    parts = {"model": {"base_args": ["--tensor-parallel-size", 8]}}
    resolved = resolve_case(case("multi_node_dep", "gb200", node_count=2, recipe=parts))
    assert [one.mark for one in resolved.defects] == ["gpu_overcommit"]
    assert "need 64 GPUs" in resolved.defects[0].what


def test_ranks_of_hosts_without_gpus() -> None:
    made = recipe(bringup={"ranks_per_host": {"xeon": 3}})
    assert made.bringup.ranks_per_host == {"xeon": 3}
    words = tails("multi_node_dp", 2, "xeon", recipe={"bringup": {"ranks_per_host": {"xeon": 3}}})[0]
    assert words[:4] == ["--data-parallel-size", "6", "--data-parallel-size-local", "3"]
