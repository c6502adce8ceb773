from __future__ import annotations

from typing import Any

import pytest

from launch.resolve import docker, gates, resolve_case
from launch.resolve.choice import default_features, default_hardware, hardware_offered, recommend, strategy_for
from launch.resolve.constraints import unmet
from launch.resolve.gates import Place
from launch.resolve.install import install_of, packages
from launch.vllm_args import parse
from tests.unit.launch.resolve.cases import case, library, recipe


def place(hardware: str = "h100", variant: str = "default", **parts: Any) -> Place:  # noqa: ANN401
    return Place(recipe(**parts), library(), variant, hardware)


@pytest.mark.parametrize(
    ("variant", "hardware", "ok"),
    [
        ({"precision": "nvfp4"}, "h100", False),
        ({"precision": "nvfp4"}, "gb200", True),
        ({"precision": "nvfp4", "precision_hardware": {"brand": "NVIDIA"}}, "h100", True),
        ({"precision": "fp8", "precision_hardware": {"brand": "AMD"}}, "h100", False),
        ({"precision": "fp8"}, "mi300x", True),
        ({"supported_hardware": ["gb200"]}, "h100", False),
        ({}, "xeon", False),
    ],
)
def test_what_a_variant_runs_on(variant: dict[str, Any], hardware: str, *, ok: bool) -> None:
    assert gates.offered(place(hardware, variants={"default": variant})) is ok


def test_hardware_is_ruled_out_and_restricted_hardware_ruled_in_by_name() -> None:
    assert not gates.offered(place(meta={"hardware": {"h100": "unsupported"}}))
    assert gates.offered(place("xeon", meta={"hardware": {"xeon": "verified"}}))


@pytest.mark.parametrize(
    ("verdicts", "listed", "ok"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"hopper": "unsupported"}, True, False),
        ({"default": "unsupported", "h100": "supported"}, False, True),
        ({"default": "unsupported"}, True, False),
    ],
)
def test_a_verdict_beats_the_list_of_strategies(verdicts: dict[str, str], *, listed: bool, ok: bool) -> None:
    one = place(strategy_hardware={"s": verdicts}, compatible_strategies=["s"] if listed else [])
    assert gates.supported(one, "s") is ok


@pytest.mark.parametrize(
    ("floors", "key", "least"),
    [
        (16, "multi_node_dep", 16),
        ({"multi_node_dep": 16}, "dep", 16),
        ({"multi_node_dep": 16, "h100": {"dep": 24}}, "dep", 24),
        ({"tp": 4, "h100": 12}, "tp", 12),
        ({}, "tp", 0),
        (None, "tp", 0),
    ],
)
def test_floors(floors: Any, key: str, least: int) -> None:  # noqa: ANN401
    assert gates.floor(place(strategy_min_gpus=floors), key) == least


def test_default_hardware_and_features() -> None:
    assert default_hardware(place(meta={"default_hardware": "mi300x"})) == "mi300x"
    assert default_hardware(place(variants={"default": {"precision": "nvfp4"}})) == "gb200"
    assert default_hardware(place()) == "box"
    assert hardware_offered(place()) == ["h100", "gb200", "mi300x", "box"]
    made = recipe(
        features={"a": {}, "b": {}, "c": {}},
        opt_in_features=["b"],
        hardware_opt_in_features={"h100": ["c"]},
        variants={"default": {}, "v": {"default_modes": {"b": "m"}}},
    )
    assert default_features(made, "default", "h100") == ["a"]
    assert default_features(made, "v", "gb200") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("default", "nodes", "expected"),
    [
        ("single_node_dep", 1, "single_node_dep"),
        ("single_node_dep", 2, "multi_node_dep"),
        (None, 2, "multi_node_tp"),
        (None, 1, "single_node_tp"),
        ("multi_node_dep", 1, "multi_node_dep"),
    ],
)
def test_the_strategy_for_a_number_of_nodes(default: str | None, nodes: int, expected: str) -> None:
    one = place(default_strategy=default)
    assert strategy_for(one, nodes, gates.effective_strategies(one.recipe)) == expected


def test_a_model_too_large_for_one_node_is_recommended_on_two() -> None:
    found = recommend(place("gb200", variants={"default": {"vram_minimum_gb": 960}}))
    assert found is not None
    assert (found.recommended.strategy, found.recommended.node_count) == ("multi_node_tp", 2)
    pools = next(one for one in found.alternatives if one.strategy == "pd_cluster")
    assert pools.pool_nodes == (2, 2)
    store = next(one for one in found.alternatives if one.strategy == "mooncake")
    assert (store.serving_strategy, store.node_count, store.instances) == ("multi_node_tp", 2, 2)


def test_hardware_that_stands_alone_gets_the_largest_variant_that_fits_or_nothing() -> None:
    variants = {"default": {"vram_minimum_gb": 500}, "small": {"vram_minimum_gb": 40}, "mid": {"vram_minimum_gb": 90}}
    found = recommend(place("box", variants=variants))
    assert found is not None
    assert found.recommended.variant == "mid"
    assert {one.deploy_type for one in found.alternatives} == {"single_node"}
    assert recommend(place("box", variants={"default": {"vram_minimum_gb": 500}})) is None


@pytest.mark.parametrize(
    ("images", "hardware", "cuda", "image"),
    [
        (None, "h100", None, "vllm/vllm-openai:latest"),
        (None, "h100", "cu129", "vllm/vllm-openai:latest-cu129"),
        (None, "mi300x", None, "vllm/vllm-openai-rocm:latest"),
        (None, "xeon", None, "vllm/vllm-openai-cpu:latest-x86_64"),
        (None, "arc", None, "vllm/vllm-openai-xpu:latest"),
        (None, "npu", None, None),
        ("reg/x:1", "h100", None, "reg/x:1"),
        ("reg/x:1", "mi300x", None, "vllm/vllm-openai-rocm:latest"),
        ({"amd": "reg/a:1"}, "mi300x", None, "reg/a:1"),
        ({"amd": "reg/a:1"}, "h100", None, "vllm/vllm-openai:latest"),
        ({"cu129": "reg/x:9", "cu130": "reg/x:13"}, "h100", None, "reg/x:13"),
        ({"nvidia": {"cu129": "reg/x:9", "cu130": "reg/x:13"}}, "h100", "cu129", "reg/x:9"),
        ({"cu129": "reg/x:9"}, "h100", "cu130", "reg/x:9"),
    ],
)
def test_images(images: Any, hardware: str, cuda: str | None, image: str | None) -> None:  # noqa: ANN401
    assert docker.image_of(case(hardware=hardware, recipe={"model": {"docker_image": images}}), cuda) == image


def test_a_docker_command_where_an_image_belongs() -> None:
    block = {"mi300x": {"docker_image": "docker pull reg/a:1"}}
    one = case(hardware="mi300x", recipe={"variants": {"default": {"hardware_overrides": block}}})
    assert docker.image_of(one) == "reg/a:1"
    assert [defect.mark for defect in resolve_case(one).defects] == ["image_has_docker_pull"]


def test_docker_run_mounts_what_the_process_must_see() -> None:
    one = case(recipe={"model": {"model_id": "/models/m", "base_env": {"X_CONFIG_PATH": "/etc/x"}}})
    words = docker.run(one, resolve_case(one).head, "reg/x:1")
    assert words[: words.index("reg/x:1")].count("-v") == 3
    assert "/models/m:/models/m:ro" in words
    assert words[words.index("reg/x:1") + 1] == "/models/m"
    npu = case(hardware="npu")
    assert docker.run(npu, resolve_case(npu).head, "reg/n:1")[2:6] == [
        *("--device", "/dev/davinci0", "--device", "/dev/davinci1")
    ]


def test_ways_to_install() -> None:
    only_image = case(recipe={"model": {"install": {"pip": False}, "min_vllm_version": "0.29.0"}})
    assert [one.id for one in install_of(only_image).ways] == ["docker"]
    declared = case(recipe={"model": {"install": {"docker": {"note": "x"}, "pip": None}}})
    assert (install_of(declared).declared, install_of(declared, store_version="0.40").min_version) == ("docker", "0.40")
    tpu_like = case(hardware="arc")
    assert (install_of(tpu_like).declared, install_of(tpu_like).used) == ("pip", "docker")
    dependencies = [{"command": "a"}, {"command": "b", "brand": "AMD"}, {"command": "c", "install_modes": ["docker"]}]
    one = case(recipe={"dependencies": dependencies})
    assert [found.command for found in packages(one, "pip", "more")] == ["a", "more"]
    assert [found.command for found in packages(one, "docker")] == ["c"]


def test_constraints_of_a_recipe() -> None:
    constraint = {"why": "w", "source": "s", "hardware": ["hopper"], "at_most": {"--max-model-len": 800000}}
    more = {"why": "e", "source": "s", "variants": ["fp8"], "needs": ["--enable-expert-parallel"], "vllm": "0.32.0"}
    one = place(bringup={"constraints": [constraint, more]}, variants={"default": {}, "fp8": {}})

    def failures(words: str, where: Place = one) -> list[str]:
        return [found.observed for found in unmet(where, "single_node_tp", parse(["m", *words.split()], "0.33.0"))]

    assert failures("--max-model-len 800000") == failures("--max-model-len auto") == []
    assert failures("--max-model-len 1m") == ["--max-model-len 1000000"]
    assert failures("") == ["--max-model-len is not given"]
    on_blackwell = Place(one.recipe, one.library, "fp8", "gb200")
    assert failures("", on_blackwell) == ["no --enable-expert-parallel", "vLLM 0.33.0"]
    assert failures("-ep", on_blackwell) == ["vLLM 0.33.0"]
