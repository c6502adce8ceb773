"""From the recipes of ours and facts of hosts to commands: which layout, which variant, and what is refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import BadInput, BringupError, CheckFailed, Several
from launch.building.command import Program, render
from launch.building.requirements import ports_of
from launch.catalogue.find import OURS as OURS_FOLDER
from launch.catalogue.find import Catalogue
from launch.choosing.decide import Choice, Decision, choose, decide
from launch.placing.layout import layout_of
from launch.request import Request
from launch.vllm_args import check
from tests.unit.launch.gangs import facts, hosts

OURS = Catalogue.of()
PROGRAM = Program("/s/envs/e/bin/vllm", "/s/weights/m/c", "/s/caches", "model")


def request(model: str, *, variant: str | None = None, strategy: str | None = None) -> Request:
    return Request(model=model, variant=variant, strategy=strategy)


def chosen(model: str, count: int, gpus: int, name: str, **wanted: str | None) -> Choice:
    gang = hosts(count)
    return choose(OURS.find(model), request(model, **wanted), gang, facts(gang, [gpus] * count, name))


def decided(model: str, count: int, gpus: int, name: str, **wanted: str | None) -> Decision:
    return decided_as(request(model, **wanted), count, gpus, name)


def decided_as(asked: Request, count: int, gpus: int, name: str) -> Decision:
    gang = hosts(count)
    seen = facts(gang, [gpus] * count, name)
    choice = choose(OURS.find(asked.model), asked, gang, seen)
    return decide(choice, asked, seen, {host.name: PROGRAM for host in gang})


@pytest.mark.parametrize(
    ("model", "count", "gpus", "name", "strategy", "variant"),
    [
        ("deepseek-v4-pro", 2, 4, "NVIDIA GB200", "multi_node_dep", "default"),
        ("deepseek-v4-pro", 1, 8, "NVIDIA H200", "single_node_dep", "default"),
        ("kimi-k3", 1, 8, "NVIDIA B300", "single_node_tp", "default"),
        ("kimi-k3", 2, 4, "NVIDIA GB300", "multi_node_tp", "default"),
        ("kimi-k3", 2, 8, "NVIDIA H200", "multi_node_tp", "default"),
        ("qwen3.5", 1, 8, "NVIDIA H200", "single_node_dep", "default"),
        ("glm-5", 2, 4, "NVIDIA GB200", "multi_node_tp", "default"),
        ("glm-5", 2, 8, "NVIDIA H200", "multi_node_dep", "default"),
        ("gpt-oss-120b", 2, 4, "NVIDIA GB200", "multi_node_dep", "default"),
        ("qwen3.8-flash-next", 1, 8, "NVIDIA B300", "single_node_tep", "default"),
        ("qwen3.8-2.4t", 2, 4, "NVIDIA GB300", "multi_node_tp", "default"),
        ("qwen3.8-2.4t", 1, 8, "AMD Instinct MI355X", "single_node_tp", "mxfp4"),
    ],
)
def test_what_is_chosen_where_nothing_is_said(
    model: str, count: int, gpus: int, name: str, strategy: str, variant: str
) -> None:
    decision = decided(model, count, gpus, name)
    assert (decision.choice.strategy, decision.choice.variant) == (strategy, variant)
    for command in decision.commands:
        assert check(command.argv[1:], dict(command.env), decision.choice.vllm) == ()


def test_tensor_parallel_over_two_trays() -> None:
    decision = decided("kimi-k3", 2, 4, "NVIDIA GB300")
    head, follower = (" ".join(command.argv) for command in decision.commands)
    assert "--tensor-parallel-size 8 --nnodes 2 --node-rank 0 --master-addr 10.1.0.1 --master-port 13345" in head
    assert "--distributed-executor-backend mp" in follower
    assert follower.endswith("--headless --served-model-name model")
    assert [ports_of(node, decision) for node in decision.placement.nodes] == [(8000, 13345), ()]
    assert decision.api_servers == {"tray1": 1, "tray2": 0}


def test_tensor_by_pipeline_over_four_trays() -> None:
    decision = decided("kimi-k3", 4, 4, "NVIDIA GB300", strategy="multi_node_tp_pp")
    for rank, command in enumerate(decision.commands):
        words = " ".join(command.argv)
        assert f"--tensor-parallel-size 8 --pipeline-parallel-size 2 --nnodes 4 --node-rank {rank} " in words
        assert ("--headless" in command.argv) == bool(rank)


def test_another_variant_than_the_default_is_said() -> None:
    decision = decided("qwen3.8-2.4t", 1, 8, "AMD Instinct MI355X")
    (variant,) = (one for one in decision.placement.reasons if one.decision == "variant")
    assert variant.chosen == "mxfp4"
    assert ("default is not for this hardware", "1737 GB") in variant.numbers


def test_a_renamed_value_is_put_right_and_said(tmp_path: Path) -> None:
    shutil.copytree(OURS_FOLDER, tmp_path / "recipes")
    recipe = tmp_path / "recipes/models/deepseek-ai/DeepSeek-V4-Pro.yaml"
    recipe.write_text(recipe.read_text().replace("- deep_gemm_mega_moe", "- deep_gemm_amxf4_mega_moe"))
    found = Catalogue.of([tmp_path / "recipes"]).find("deepseek-v4-pro")
    gang, asked = hosts(2), request("deepseek-v4-pro")
    seen = facts(gang, [4, 4])
    decision = decide(choose(found, asked, gang, seen), asked, seen, {host.name: PROGRAM for host in gang})
    assert all("deep_gemm_mega_moe" in command.argv for command in decision.commands)
    assert [one for one in decision.placement.reasons if "deep_gemm_amxf4_mega_moe became" in one.chosen]


def test_pools_and_their_router_are_not_launched(tmp_path: Path) -> None:
    shutil.copytree(OURS_FOLDER, tmp_path / "recipes")
    pools = "name: pd_cluster\ndeploy_type: pd_cluster\nprefill: {parallelism: tp}\ndecode: {parallelism: tp}\n"
    (tmp_path / "recipes/strategies/pd_cluster.yaml").write_text(pools)
    gang = hosts(2)
    with pytest.raises(BadInput, match="pools") as caught:
        choose(
            Catalogue.of([tmp_path / "recipes"]).find("glm-5"),
            request("glm-5", strategy="pd_cluster"),
            gang,
            facts(gang, [4, 4]),
        )
    assert caught.value.id == "strategy-unsupported"


def ids(error: BringupError) -> set[str]:
    return {one.id for one in error.errors} if isinstance(error, Several) else {error.id}


@pytest.mark.parametrize(
    ("model", "count", "gpus", "name", "wanted", "id_", "words"),
    [
        ("mistral-large-4", 1, 8, "NVIDIA B200", {}, "checkpoint-unknown", "names one"),
        ("ernie", 1, 8, "NVIDIA H200", {}, "plugin-missing", "vLLM-ERNIE"),
        ("ernie", 1, 8, "AMD Instinct MI355X", {}, "recipe.hardware", "unsupported"),
        (
            "deepseek-v4-pro",
            1,
            8,
            "NVIDIA H200",
            {"variant": "nvfp4"},
            "recipe.hardware",
            "for NVIDIA blackwell",
        ),
        ("minimax-m3", 1, 8, "NVIDIA H200", {"variant": "mxfp4"}, "recipe.hardware", "is for mi355x"),
        ("kimi-k3", 1, 4, "NVIDIA GB300", {}, "strategy-none", "strategy_min_gpus"),
        ("kimi-k3", 1, 8, "NVIDIA B300", {"variant": "fp9"}, "variant-unknown", "fp9"),
        ("kimi-k3", 1, 8, "NVIDIA B300", {"strategy": "x"}, "strategy-unknown", "x"),
        ("gpt-oss-120b", 1, 8, "NVIDIA L4", {}, "recipe.hardware", "does not name it"),
    ],
)
def test_refused_before_anything_is_rendered(
    model: str, count: int, gpus: int, name: str, wanted: dict[str, str], id_: str, words: str
) -> None:
    with pytest.raises(BringupError) as caught:
        chosen(model, count, gpus, name, **wanted)
    assert isinstance(caught.value, BadInput | CheckFailed | Several)
    assert id_ in ids(caught.value)
    assert words in str(caught.value)
    assert all(word in str(caught.value) for word in ("observed:", "required:", "next:"))


def words_of(decision: Decision) -> list[str]:
    return [" ".join(command.argv) for command in decision.commands]


def test_external_load_balancing_is_a_server_for_every_rank() -> None:
    asked = Request("gpt-oss-120b", load_balancing="external")
    decision = decided_as(asked, 2, 4, "NVIDIA GB200")
    head, other = words_of(decision)
    gang = "--data-parallel-size 8 --data-parallel-size-local 4 --data-parallel-address 10.1.0.1"
    lb = "--data-parallel-multi-port-external-lb --data-parallel-start-rank"
    assert f"{gang} --data-parallel-rpc-port 13345 {lb} 0 --data-parallel-supervisor-port 8004" in head
    assert f"{lb} 4 --data-parallel-supervisor-port 8004" in other
    for command in decision.commands:
        assert "--headless" not in command.argv
        assert "--numa-bind" not in command.argv, "each server would bind to the nodes of the first one's GPUs"
        assert check(command.argv[1:], dict(command.env), decision.choice.vllm) == ()
    ports = (8000, 8001, 8002, 8003, 8004)
    assert [ports_of(node, decision) for node in decision.placement.nodes] == [(*ports, 13345), ports]
    assert decision.api_servers == {"tray1": 4, "tray2": 4}


def test_one_rank_a_host_needs_no_supervisor() -> None:
    decision = decided_as(Request("tiny-moe", load_balancing="external", strategy="multi_node_dep"), 2, 0, "")
    assert len(decision.placement.head.ranks) > 1
    one = replace(decision.placement, nodes=tuple(replace(n, ranks=n.ranks[:1]) for n in decision.placement.nodes))
    command = render(("vllm", "serve", "m"), {}, node=one.nodes[1], placement=one, program=PROGRAM)
    assert "--data-parallel-external-lb --data-parallel-rank 2" in " ".join(command.argv)
    assert one.supervisor_port is None


@pytest.mark.parametrize(
    ("model", "count", "strategy", "balancing", "observed"),
    [
        ("tiny-dense", 2, "multi_node_dp", "external", "the model is dense"),
        ("glm-5", 2, "multi_node_tp", "hybrid", "one rank: nothing is balanced"),
    ],
)
def test_load_balancing_that_a_layout_cannot_have(
    model: str, count: int, strategy: str, balancing: str, observed: str
) -> None:
    with pytest.raises(BringupError) as caught:
        decided_as(Request(model, strategy=strategy, load_balancing=balancing), count, 4, "NVIDIA GB200")
    assert observed in str(caught.value)
    assert "next:" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--data-parallel-size 7 --data-parallel-rank 0", "7 ranks, a process each"),
        ("--data-parallel-size 8 --data-parallel-backend ray", "Ray"),
        ("--tensor-parallel-size 8 --distributed-executor-backend ray", "Ray"),
        ("--data-parallel-size 8 --nnodes 2", "would infer"),
        ("--tensor-parallel-size 8 --nnodes 4", "over 4 hosts, and there are 2"),
        ("--tensor-parallel-size 5 --nnodes 2", "cannot be divided"),
        ("--tensor-parallel-size 8", "one host's layout for 2 hosts"),
    ],
)
def test_modes_that_are_not_launched_say_why(words: str, reason: str) -> None:
    choice = chosen("gpt-oss-120b", 2, 4, "NVIDIA GB200")
    with pytest.raises(BadInput, match=reason) as caught:
        layout_of(choice, Request(model="m"), ["m", *words.split()], 2)
    assert caught.value.id == "strategy-unsupported"
