"""The plans of deepseek-v4-pro on the hardware of handbook section 6.3: a change of one shows in review.

Write them anew with `BRINGUP_WRITE_GOLDEN=1 pytest tests/golden/test_plans.py`, and read the diff. Hosts are those of
tests/fixtures/hosts; of H20 and B300 there is no fixture, and the HGX H200 stands in, with their GPUs' names and sizes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from inventory.schema import Host
from launch.caches.roots import roots
from launch.catalogue.find import Catalogue
from launch.choosing.outline import outline
from launch.plans.document import LaunchPlan
from launch.plans.lines import lines
from launch.plans.make import plan_of
from launch.request import Request
from launch.vllm_args import parse
from tests.golden.handbook import Command, commands
from tests.unit.launch.real_gangs import gang

FOLDER = Path(__file__).parent / "plans"
HANDBOOK = Path(__file__).resolve().parents[2] / "../shared/handbook/frontier-deployment-handbook.zh.md"
MODEL, V33 = "deepseek-v4-pro", "0.33.0"
OURS = Catalogue.of()
MIB = 1 << 20
CASES = {  # name: (fixture, hosts, GPUs' name and MiB where they are not the fixture's)
    "2-gb200-trays": ("gb200-tray", 2, None),
    "8-h200": ("h200-hgx", 1, None),
    "8-h20": ("h200-hgx", 1, ("NVIDIA H20", 97871)),
    "8-b300": ("h200-hgx", 1, ("NVIDIA B300 SXM6 AC", 275040)),
    "8-mi355x": ("mi355x-8x", 1, None),
}


def hosts_of(case: str) -> tuple[Sequence[Host], dict[str, HostFacts]]:
    fixture, count, other = CASES[case]
    members, seen = gang(fixture, count)
    return members, {name: renamed(one, *other) if other else one for name, one in seen.items()}


def renamed(one: HostFacts, name: str, mib: int) -> HostFacts:
    assert is_known(one.gpus)
    devices = tuple(replace(gpu, name=name, memory_bytes=mib * MIB) for gpu in one.gpus.devices)
    return replace(one, gpus=replace(one.gpus, devices=devices))


def plan(case: str) -> LaunchPlan:
    members, seen = hosts_of(case)
    return plan_of(outline(OURS.find(MODEL), Request(MODEL), members, seen), seen)


@pytest.mark.parametrize("case", sorted(CASES))
def test_plans_are_those_that_were_reviewed(case: str) -> None:
    made = plan(case)
    inputs = made.inputs
    text = "\n".join(lines(made)).replace(inputs.digest, "DIGEST").replace(inputs.recipe, "RECIPE") + "\n"
    text = re.sub(r"(/caches)/[0-9a-f]{12}", r"\1/STAMP", text)  # it has the environment in it
    if made.engine.environment:
        text = text.replace(made.engine.environment, "ENVIRONMENT")
    path = FOLDER / f"{case}.txt"
    if os.environ.get("BRINGUP_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


# What our command says otherwise than the handbook's, and the entry of the recipe's `sources` that explains it.
OTHERWISE = {
    "moe_backend": "MoE kernel on Blackwell",
    "data_parallel_address": "address of the head",
    "enable_flashinfer_autotune": "flashinfer autotune",
    "numa_bind": "NUMA binding",
    "numa_bind_nodes": "NUMA binding",
    "tool_call_parser": "parsers on two trays",
    "enable_auto_tool_choice": "parsers on two trays",
    "reasoning_parser": "parsers on two trays",
    "VLLM_DSV4_MEGA_FP8_COMBINE": "VLLM_DSV4_MEGA_FP8_COMBINE",
    "VLLM_USE_V2_MODEL_RUNNER": "VLLM_USE_V2_MODEL_RUNNER",
}
WRITTEN_OUT = {  # what vLLM would take or infer by itself, and what a deployment needs on any model
    *("tensor_parallel_size", "data_parallel_size_local", "data_parallel_rpc_port", "data_parallel_address"),
    *("served_model_name", "host", "port", "api_server_count", "distributed_executor_backend"),
}
WHERE_IT_RUNS = {
    *("PATH", "LANG", *roots(""), "HF_HUB_OFFLINE", "VLLM_NO_USAGE_STATS"),
    *("SPT_NOENV", "VLLM_HOST_IP", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"),
    "VLLM_ENGINE_READY_TIMEOUT_S",  # handbook 8.3
    *("NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE"),  # NVLink from tray to tray
}


def handbook(word: str) -> Command:
    if not HANDBOOK.is_file():
        pytest.skip("the handbook is not beside this checkout")
    text = HANDBOOK.read_text(encoding="utf-8")
    section = text[text.index("### 6.3") : text.index("### 6.4")]
    return next(one for one in commands(section) if word in one.argv)


@pytest.mark.parametrize(
    ("case", "host", "word"), [("2-gb200-trays", 1, "--data-parallel-hybrid-lb"), ("8-h200", 0, "800000")]
)
def test_each_line_is_the_handbooks_or_the_recipe_says_why_not(case: str, host: int, word: str) -> None:
    theirs, made = handbook(word), plan(case)
    ours = made.hosts[host]
    values, wanted = (dict(parse(argv, V33).values) for argv in (ours.argv[1:], theirs.argv))
    differing = {name for name in {*values, *wanted} if values.get(name) != wanted.get(name)}
    differing |= {name for name, _ in {*ours.env} ^ {*theirs.env}}
    explained = {one.what for one in made.contested}
    for name in differing - WRITTEN_OUT - WHERE_IT_RUNS:
        assert OTHERWISE.get(name) in explained, f"{name}: handbook {wanted.get(name)}, ours {values.get(name)}"


def value(made: LaunchPlan, name: str) -> Any:  # noqa: ANN401  (options have many types)
    return parse(made.head.argv[1:], V33).values.get(name)


def test_what_the_handbook_says_of_the_context_on_each_hardware() -> None:
    made = {case: plan(case) for case in CASES}
    context = {case: value(one, "max_model_len") for case, one in made.items()}
    assert context["8-h200"] == 800000
    assert (context["8-h20"], value(made["8-h20"], "max_num_seqs")) == (200000, 16)
    assert context["2-gb200-trays"] == context["8-b300"] == context["8-mi355x"] == 1048576
    assert {one.layout.data_parallel for one in made.values()} == {8}
    assert {one.layout.expert_parallel for one in made.values()} == {8}
    assert [one.index for one in made["2-gb200-trays"].hosts[1].ranks] == [4, 5, 6, 7]
    assert not [case for case, one in made.items() if one.obstacles]
