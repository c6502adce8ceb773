from __future__ import annotations

from typing import Any

from launch.resolve.omni import resolve_omni, tasks_of
from tests.unit.launch.resolve.cases import case

PARTS: dict[str, Any] = {
    "model": {"model_id": "org/o", "base_args": ["--a", "base"]},
    "variants": {"default": {"extra_args": ["--not-on-default"]}, "fp8": {"extra_args": ["--a", "fp8"]}},
    "omni": {
        "port": 8091,
        "tasks": [
            "t2i",
            {
                "id": "i2v",
                "key": "one",
                "model_id": "org/i2v",
                "extra_args": ["--t"],
                "hardware_overrides": {"gb200": {"model_id": "org/big", "extra_args": ["--more"]}},
            },
            {"id": "nope"},
        ],
    },
}


def test_tasks_of_a_kind_that_is_known() -> None:
    assert [(one.id, one.key) for one in tasks_of(case(recipe=PARTS))] == [("t2i", "t2i"), ("i2v", "one")]


def test_the_command_of_a_task() -> None:
    resolved = resolve_omni(case(recipe=PARTS), "one")
    assert resolved.head.argv == ("vllm", "serve", "org/i2v", "--a", "base", "--t", "--port", "8091", "--omni")
    assert resolved.task is not None
    assert resolved.task["endpoint"] == "/v1/videos"


def test_the_variant_counts_unless_it_is_the_default_and_the_hardware_adds_to_the_task() -> None:
    resolved = resolve_omni(case(hardware="gb200", variant="fp8", recipe=PARTS), "one")
    assert resolved.head.argv[2:] == ("org/big", "--a", "fp8", "--t", "--more", "--port", "8091", "--omni")


def test_the_first_task_and_another_program() -> None:
    parts = {**PARTS, "omni": {"tasks": ["t2i"], "serve_binary": "vllm-omni serve"}}
    assert resolve_omni(case(recipe=parts), None).head.argv == ("vllm-omni", "serve", "org/o", "--a", "base", "--omni")
