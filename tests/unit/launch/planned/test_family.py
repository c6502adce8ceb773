"""Parsers and tokenizer modes: of the recipe, and of the family where a recipe has none."""

from __future__ import annotations

import pytest

from launch.choosing.settings import settings
from launch.planned.family import FAMILIES, family_of
from launch.request import Request
from launch.vllm_args.parse import load
from tests.unit.launch.gangs import facts, hosts
from tests.unit.launch.real_gangs import decided, reason, words


def said(model: str, *off: str) -> tuple[str, str]:
    members = hosts(1)
    decision = decided(Request(model=model, no_features=off), members, facts(members, [8], "NVIDIA H200"))
    return words(decision), reason(decision, "parsers")


def test_without_tools_the_parsers_stay() -> None:
    command, why = said("glm-5", "tool_calling")
    assert "--tool-call-parser glm47" in command
    assert "--reasoning-parser glm47" in command
    assert "--enable-auto-tool-choice" not in command
    assert "with tools or without" in why


def test_thinking_that_was_switched_off_is_not_parsed() -> None:
    command, _ = said("glm-5", "reasoning")
    assert "--reasoning-parser" not in command
    assert "--tool-call-parser glm47 --enable-auto-tool-choice" in command


def test_what_the_recipe_says_is_not_said_twice() -> None:
    command, why = said("deepseek-v4-pro")
    for flag in ("--tokenizer-mode", "--tool-call-parser", "--reasoning-parser"):
        assert command.count(f"{flag} deepseek_v4") == 1
    assert "the recipe's, for the family" in why


@pytest.mark.parametrize(("option", "warned"), [("hermes", True), ("deepseek_v4", False)])
def test_what_was_typed_in_place_of_the_family_is_warned_of(option: str, warned: bool) -> None:  # noqa: FBT001
    members = hosts(1)
    request = Request("deepseek-v4-pro", settings=settings(f"tool-call-parser={option}"))
    placement = decided(request, members, facts(members, [8], "NVIDIA H200")).placement
    found = [one for one in placement.reasons if one.decision == "parsers"]
    assert any(one.warns for one in found) is warned
    assert not any("--tool-call-parser" in one.chosen and not one.warns for one in found)


@pytest.mark.parametrize(
    ("model_id", "parser"),
    [
        ("deepseek-ai/DeepSeek-V4-Pro-0813", "deepseek_v4"),
        ("deepseek-ai/DeepSeek-V4.1-Flash", "deepseek_v41"),
        ("nvidia/DeepSeek-V4-Pro-NVFP4", "deepseek_v4"),
        ("moonshotai/Kimi-K3", "kimi_k3"),
        ("zai-org/GLM-5.3-FP8", "glm47"),
        ("Qwen/Qwen3.8-2.4T-A95B", "qwen3_coder"),
        ("openai/gpt-oss-120b", "openai"),
        ("MiniMaxAI/MiniMax-M3", "minimax_m3"),
    ],
)
def test_the_family_of_a_model(model_id: str, parser: str) -> None:
    family = family_of(model_id)
    assert family is not None
    assert family.tool_call_parser == parser


def test_no_family_is_guessed() -> None:
    assert family_of("meta-llama/Llama-3.3-70B-Instruct") is None
    assert family_of("deepseek-ai/DeepSeek-R1") is None


def test_every_name_is_registered_in_the_pinned_version() -> None:
    registries = load("0.33.0")["registries"]
    for one in FAMILIES:
        assert one.tool_call_parser in registries["tool_call_parser"]
        assert one.reasoning_parser is None or one.reasoning_parser in registries["reasoning_parser"]
        assert one.tokenizer_mode is None or one.tokenizer_mode in registries["tokenizer_mode"]
