"""What is chosen for these very hosts, and every refusal on the way, each with what contradicts what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from inventory.errors import BringupError, CheckFailed, Several
from inventory.facts.base import Unknown, Why
from launch.catalogue.find import Catalogue
from launch.choosing.choice import Choice, pick
from launch.choosing.outline import Outline, launched, outline
from launch.choosing.reasons import Reason
from launch.choosing.settings import settings
from launch.request import Request
from tests.fleets import spoiled
from tests.unit.launch.gangs import facts, gpu, gpus, hosts

OURS = Catalogue.of()
H200, GB200, GB300, B300, MI355X = "NVIDIA H200", "NVIDIA GB200", "NVIDIA GB300", "NVIDIA B300", "AMD Instinct MI355X"


def outlined(model: str, counts: Sequence[int], name: str, *, setting: str = "", **wanted: object) -> Outline:
    gang = hosts(len(counts))
    request = replace(Request(model, settings=settings(setting)), **wanted)  # type: ignore[arg-type]
    return outline(OURS.find(model), request, gang, facts(gang, counts, name))


def reason(choice: Choice, about: str) -> Reason:
    return next(one for one in choice.reasons if one.decision == about)


@pytest.mark.parametrize(
    ("model", "counts", "name", "variant", "strategy"),
    [
        ("glm-5", [4], GB200, "nvfp4", "single_node_tp"),  # 893 GB of FP8 do not load on 768 GB
        ("glm-5", [4, 4], GB200, "default", "multi_node_tp"),
        ("qwen3.5", [4], H200, "default", "single_node_dep"),  # half a node: 477 of 564 GB
        ("qwen3.5", [2], H200, "int4", "single_node_dep"),  # 239 of 282 GB
        ("gpt-oss-120b", [1], H200, "default", "single_node_tp"),
        ("deepseek-v4-pro", [4], GB200, "default", "single_node_dep"),  # none fits: the default is what is refused
    ],
)
def test_the_variant_is_the_first_whose_weights_the_nodes_hold(
    model: str, counts: list[int], name: str, variant: str, strategy: str
) -> None:
    choice = outlined(model, counts, name).choice
    assert (choice.variant, choice.strategy) == (variant, strategy)
    assert reason(choice, "variant").chosen == variant


def test_reasons_have_the_numbers_that_the_rule_looked_at() -> None:
    choice = outlined("glm-5", [4], GB200).choice
    variant = reason(choice, "variant")
    assert ("default is too large", "893 GB") in variant.numbers
    assert ("nvfp4 needs", "446 GB") in variant.numbers
    assert ("1 x gb200", "768 GB") in variant.numbers
    assert variant.source == "zai-org/GLM-5: variants"
    assert reason(choice, "hardware").numbers == (("name", GB200),)
    assert reason(choice, "vLLM").source == "zai-org/GLM-5: bringup.vllm_version"


@pytest.mark.parametrize(("counts", "used"), [([8], 8), ([7], 4), ([6, 8], 4), ([3], 2), ([1], 1)])
def test_hosts_with_odd_and_unequal_numbers_of_gpus(counts: list[int], used: int) -> None:
    made = outlined("gpt-oss-120b", counts, H200, strategy="single_node_dep" if len(counts) == 1 else None)
    assert [len(node.ranks) for node in made.decision.placement.nodes] == [used] * len(counts)
    told = [one for one in made.choice.reasons if one.decision == "GPUs a host"]
    assert bool(told) == (used != 8)
    if told:
        assert told[0].chosen == str(used)
        assert all((f"tray{at + 1}", str(count)) in told[0].numbers for at, count in enumerate(counts))


def test_a_broken_gpu_is_named_and_passed_over() -> None:
    gang = hosts(1)
    seen = facts(gang, [8], H200)
    devices = [gpu(index, name=H200) for index in range(8)]
    broken = (devices[0], spoiled(devices[1], 1), spoiled(devices[2], 2), spoiled(devices[3], 0), *devices[4:])
    seen["tray1"] = replace(seen["tray1"], gpus=replace(gpus(8, H200), devices=broken, hidden=("0000000f:01:00.0",)))
    request = Request("gpt-oss-120b", strategy="single_node_dep")
    made = outline(OURS.find(request.model), request, gang, seen)
    (told,) = (one for one in made.decision.placement.reasons if one.decision == "GPUs of tray1")
    assert told.warns
    assert told.chosen == "rank 0: 0; rank 1: 4; rank 2: 5; rank 3: 6"
    words = str(told)
    for name in ("GPU 1 broken", "GPU 2 broken", "GPU 3 MIG", "0000000f:01:00.0 on the bus"):
        assert name in words
    assert dict(made.decision.commands[0].env)["CUDA_VISIBLE_DEVICES"] == "0,4,5,6"


def test_parts_of_gpus_are_refused() -> None:
    gang = hosts(1)
    seen = facts(gang, [64], "AMD Instinct MI300X")
    parts = tuple(replace(gpu(at, name="AMD Instinct MI300X"), memory_bytes=24 << 30) for at in range(64))
    seen["tray1"] = replace(seen["tray1"], gpus=replace(gpus(1, "AMD Instinct MI300X"), devices=parts))
    with pytest.raises(CheckFailed) as caught:
        pick(OURS.find("gpt-oss-120b"), Request("gpt-oss-120b"), gang, seen)
    assert (caught.value.id, caught.value.observed) == ("gpu.mig", "64 devices where the node has 8 GPUs")


def test_a_model_that_only_an_image_has_is_planned_with_the_newest_schema_and_says_so() -> None:
    made = outlined("kimi-k3.1-pro", [4, 4], GB300)
    assert {error.id for error in made.obstacles} == {"commit-open"}
    assert made.engines == {}
    version = reason(made.choice, "vLLM")
    assert version.warns
    assert "not proven" in version.rule


def ids(error: BringupError) -> set[str]:
    return {one.id for one in (error.errors if isinstance(error, Several) else (error,))}


REFUSED = [
    # (model, GPUs of each host, name, what was typed, id, exit code, both sides)
    ("deepseek-v4-pro", [8], H200, {"variant": "nvfp4"}, "recipe.hardware", 2, ("--variant nvfp4", "hosts are h200")),
    ("deepseek-v4-pro", [8], H200, {"variant": "x"}, "variant-unknown", 2, ("--variant x", "nvfp4")),
    ("deepseek-v4-pro", [8], H200, {"strategy": "x"}, "strategy-unknown", 2, ("--strategy x", "single_node_dep")),
    (
        "deepseek-v4-pro",
        [4, 4],
        GB200,
        {"strategy": "single_node_tp"},
        "strategy-none",
        2,
        ("single_node_tp", "2 hosts"),
    ),
    ("deepseek-v4-pro", [8], H200, {"strategy": "multi_node_dep"}, "strategy-none", 2, ("multi_node_dep", "one host")),
    (
        "kimi-k3",
        [4],
        GB300,
        {"strategy": "single_node_tp"},
        "strategy-none",
        2,
        ("single_node_tp", "strategy_min_gpus"),
    ),
    ("deepseek-v4-pro", [8], H200, {"nodes": 2}, "override-contradicts", 2, ("--nodes 2", "1 host(s): tray1")),
    ("deepseek-v4-pro", [8], H200, {"hardware": "b200"}, "override-contradicts", 2, ("--hardware b200", "are h200")),
    (
        *("deepseek-v4-pro", [8], H200, {"setting": "max-model-len=1048576"}, "override-contradicts", 2),
        ("--set max-model-len=1048576", "800000 or less", "handbook 6.3"),
    ),
    (
        *("deepseek-v4-pro", [8], H200, {"setting": "tensor-parallel-size=4"}, "override-contradicts", 2),
        ("--set tensor-parallel-size=4", "8 usable GPU(s) on tray1"),
    ),
    (
        *("deepseek-v4-pro", [4, 4], GB200, {"setting": "data-parallel-size=4"}, "override-contradicts", 2),
        ("--set data-parallel-size=4", "DP 8"),
    ),
    (
        *("glm-5", [8], H200, {"setting": 'speculative-config={"method":"x"}', "features": ("spec_decoding",)}),
        *("override-contradicts", 2, ("--feature spec_decoding", "--set", "--speculative-config")),
    ),
    (
        *("qwen3.8-flash-next", [8], H200, {"setting": "enable-expert-parallel=false"}, "override-contradicts", 2),
        ("--set enable-expert-parallel=false", "--enable-expert-parallel"),
    ),
    ("gpt-oss-120b", [8], "NVIDIA L4", {}, "recipe.hardware", 4, ("hosts are l4", "the recipe does not name it")),
    ("gpt-oss-120b", [8], "NVIDIA FUTURE", {}, "gpu.model", 4, ("NVIDIA FUTURE", "taxonomy")),
    (
        "kimi-k3",
        [4],
        GB300,
        {},
        "strategy-none",
        2,
        ("needs 8 GPUs (strategy_min_gpus), 4 more than 4", "1 more host(s)"),
    ),
    ("glm-5", [4, 4, 4], GB200, {}, "strategy-unsupported", 2, ("TP 12 does not divide", "attention heads")),
    ("mistral-large-4", [8], B300, {}, "checkpoint-unknown", 2, ("no model_id",)),
]


@pytest.mark.parametrize(("model", "counts", "name", "wanted", "id_", "code", "both"), REFUSED)
def test_every_refusal_names_what_contradicts_what(
    model: str, counts: list[int], name: str, wanted: dict[str, object], id_: str, code: int, both: tuple[str, ...]
) -> None:
    with pytest.raises(BringupError) as caught:
        outlined(model, counts, name, **wanted)  # type: ignore[arg-type]
    error = caught.value
    assert id_ in ids(error)
    assert error.exit_code == code
    assert all(words in str(error) for words in both), str(error)


def test_hosts_of_different_kinds_are_refused_and_told_how_many_are_alike() -> None:
    gang = hosts(3)
    seen = facts(gang, [8, 8, 8], H200)
    seen["tray3"] = replace(seen["tray3"], gpus=gpus(8, B300))
    with pytest.raises(CheckFailed) as caught:
        pick(OURS.find("deepseek-v4-pro"), Request("deepseek-v4-pro"), gang, seen)
    assert caught.value.id == "gpu.uniform"
    assert "--nodes 2" in caught.value.next_command
    picked = pick(OURS.find("deepseek-v4-pro"), Request("deepseek-v4-pro", nodes=2), gang, seen)
    assert picked.left_out == (("tray3", "it is b300, the others are h200"),)


def test_unknown_gpus_are_not_guessed() -> None:
    gang = hosts(1)
    seen = facts(gang, [8], H200)
    seen["tray1"] = replace(seen["tray1"], gpus=Unknown(Why.TIMED_OUT, "nvidia-smi"))
    with pytest.raises(CheckFailed) as caught:
        outline(OURS.find("gpt-oss-120b"), Request("gpt-oss-120b"), gang, seen)
    assert caught.value.id == "gpu.model"


def test_a_deploy_refuses_what_a_plan_shows_as_an_obstacle_and_else_decides_the_same() -> None:
    for model, counts, name in (("kimi-k3.1-pro", [4, 4], GB300), ("glm-5", [4], GB200)):
        gang = hosts(len(counts))
        seen = facts(gang, counts, name)
        shown = outline(OURS.find(model), Request(model), gang, seen)
        assert shown.obstacles
        with pytest.raises(BringupError) as caught:
            launched(OURS.find(model), Request(model), gang, seen)
        assert ids(caught.value) == {error.id for error in shown.obstacles}
    gang = hosts(2)
    seen = facts(gang, [4, 4])
    request = Request("deepseek-v4-pro")
    shown, done = (way(OURS.find(request.model), request, gang, seen) for way in (outline, launched))
    assert shown.decision == done.decision


@pytest.mark.parametrize(
    ("name", "mib", "there"),
    [
        ("NVIDIA A100-SXM4-40GB", 40960, "320 GB"),
        ("NVIDIA H20-3e", 143771, "1120 GB"),
        ("NVIDIA H100 NVL", 95830, "752 GB"),
    ],
)
def test_gpus_of_one_name_and_another_size_count_as_their_driver_says(name: str, mib: int, there: str) -> None:
    gang = hosts(1)
    seen = facts(gang, [8], name)
    sized = tuple(replace(gpu(at, name=name), memory_bytes=mib << 20) for at in range(8))
    seen["tray1"] = replace(seen["tray1"], gpus=replace(gpus(8, name), devices=sized))
    choice = pick(OURS.find("gpt-oss-120b"), Request("gpt-oss-120b"), gang, seen)
    assert reason(choice, "memory of a GPU").numbers[1] == ("the smallest here", f"{mib / 1024:.1f} GiB")
    assert reason(choice, "variant").numbers[-1][1] == there


def test_a_typed_strategy_and_a_constraint_of_the_recipe() -> None:
    with pytest.raises(BringupError) as caught:
        outlined("qwen3.8-flash-next", [8], H200, strategy="single_node_tp")
    assert (caught.value.id, caught.value.exit_code) == ("override-contradicts", 2)
    assert "--strategy single_node_tp (typed), whose command has no --enable-expert-parallel" in caught.value.observed
    assert "128" in caught.value.observed, "why: the blocks of the quantisation"
