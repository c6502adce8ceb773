from __future__ import annotations

import json

import pytest

from inventory.errors import BadInput, ExitCode
from launch.catalogue.find import Catalogue
from launch.catalogue.show import Other, Shown, lines, show
from launch.verbs import recipes as verbs

OURS = Catalogue.of()


def shown(model: str, hardware: str = "", nodes: int = 0, variant: str = "", strategy: str = "") -> Shown:
    return show(OURS.find(model), hardware=hardware, nodes=nodes, variant=variant, strategy=strategy)


@pytest.mark.parametrize(
    ("model", "hardware", "nodes", "strategy"),
    [
        ("deepseek-v4-pro", "", 2, "multi_node_dep"),
        ("deepseek-v4-pro", "h200", 1, "single_node_dep"),
        ("kimi-k3", "gb300", 2, "multi_node_tp"),
        ("kimi-k3", "b300", 1, "single_node_tp"),
        ("gpt-oss-120b", "h100", 1, "single_node_tp"),
        ("tiny-dense", "cpu", 1, "single_node_tp"),
    ],
)
def test_what_is_not_said_is_chosen(model: str, hardware: str, nodes: int, strategy: str) -> None:
    one = shown(model, hardware)
    assert (one.nodes, one.strategy) == (nodes, strategy)
    assert len(one.commands) == nodes
    assert one.refused == ()
    assert one.proven
    assert one.not_launchable == ""


def test_what_is_said_is_taken() -> None:
    one = shown("deepseek-v4-pro", "b200", 2, "preview", "multi_node_tep")
    assert one.model_id == "deepseek-ai/DeepSeek-V4-Pro"
    assert "--node-rank 1" in " ".join(one.commands[1].argv)


def test_constraints_that_hold_here_and_what_breaks_them() -> None:
    assert "--max-model-len" in shown("deepseek-v4-pro", "h200").constraints[0].at_most
    one = shown("qwen3.8-flash-next", "h200", strategy="single_node_tp")
    assert any("--enable-expert-parallel" in text for text in one.refused)


def test_an_image_only_model_shows_its_image_and_that_nothing_is_proven() -> None:
    one = shown("kimi-k3.1-pro")
    text = "\n".join(lines(one, OURS.find("kimi-k3.1-pro")))
    assert not one.proven
    assert "vllm/vllm-openai:kimi-k31" in text
    assert "proves nothing" in text


def test_the_text_has_commands_variants_constraints_and_sources() -> None:
    text = "\n".join(lines(shown("glm-5"), OURS.find("glm-5")))
    for part in ("vllm serve zai-org/GLM-5-FP8", "nvidia/GLM-5-NVFP4", "sources:", "else: glm5_next", "VLLM_ENGINE"):
        assert part in text


@pytest.mark.parametrize(
    "wanted",
    [{"hardware": "b2000"}, {"variant": "fp9"}, {"strategy": "five_node_tp"}],
)
def test_unknown_names_are_bad_input(wanted: dict[str, str]) -> None:
    with pytest.raises(BadInput, match=next(iter(wanted.values()))):
        show(
            OURS.find("glm-5"),
            nodes=0,
            hardware=wanted.get("hardware", ""),
            variant=wanted.get("variant", ""),
            strategy=wanted.get("strategy", ""),
        )


def test_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    flags = dict.fromkeys(("variant", "strategy", "load_balancing", "feature", "no_feature", "recipes"), "")
    model = "deepseek-v4-pro"
    assert verbs.recipes_show(model=model, hardware="gb200", nodes="2", ray=False, json=True, **flags) is ExitCode.DONE
    data = json.loads(capsys.readouterr().out)["data"]
    assert [one["rank"] for one in data["commands"]] == [0, 1]
    assert data["sources"]
    assert verbs.recipes_show(model=model, hardware="gb200", nodes="2", ray=False, json=False, **flags) is ExitCode.DONE
    assert "# worker 1" in capsys.readouterr().out


def told(model: str, other: Other, *, strategy: str = "", nodes: int = 2) -> list[str]:
    one = show(OURS.find(model), hardware="gb200", nodes=nodes, variant="", strategy=strategy, other=other)
    assert one.refused == ()
    return [" ".join(command.argv) for command in one.commands]


@pytest.mark.parametrize(
    ("balancing", "head", "follower"),
    [
        ("internal", "--data-parallel-rpc-port 13345", "--data-parallel-start-rank 4 --headless"),
        ("hybrid", "--data-parallel-hybrid-lb --data-parallel-start-rank 0", "--data-parallel-start-rank 4"),
        ("external", "external-lb --data-parallel-start-rank 0", "--data-parallel-supervisor-port 8004 --port 8000"),
    ],
)
def test_each_load_balancing_is_written_out_for_every_node(balancing: str, head: str, follower: str) -> None:
    first, second = told("deepseek-v4-pro", Other(load_balancing=balancing))
    assert head in first
    assert second.endswith(follower)
    assert all("--data-parallel-address $HEAD_IP" in one for one in (first, second))


def test_with_ray_one_command_starts_all_ranks() -> None:
    first, second, serve = told("deepseek-v4-pro", Other(ray=True))
    assert first == "ray start --head --node-ip-address $HEAD_IP --port 6379 --num-gpus 4"
    assert second == "ray start --address $HEAD_IP:6379 --num-gpus 4"
    assert "--data-parallel-size 8 --data-parallel-size-local 4 --data-parallel-address $HEAD_IP" in serve
    assert serve.endswith("--data-parallel-backend ray")
    for flag in ("--headless", "-start-rank", "-lb", "--nnodes"):
        assert flag not in serve


def test_with_ray_a_rank_over_nodes_is_a_matter_of_the_executor() -> None:
    *_, serve = told("glm-5", Other(ray=True), strategy="multi_node_tp")
    assert serve.endswith("--tensor-parallel-size 8 --distributed-executor-backend ray")


def test_a_deploy_with_ray_is_refused_and_says_so() -> None:
    one = show(OURS.find("glm-5"), hardware="gb200", nodes=2, variant="", strategy="", other=Other(ray=True))
    assert "by hand only" in one.not_launchable
