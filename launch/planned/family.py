"""Parsers and the tokenizer mode of a model's family: set with tools and without. Pure.

Without them tool calls stay text and thinking stands in the answer, and vLLM starts all the same. Mostly the recipe has
them as features; without tools the parser stays and only the choice by the model (`--enable-auto-tool-choice`) goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launch.choosing.reasons import Reason
from launch.vllm_args.parse import full_flag, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.choosing.choice import Choice
    from launch.vllm_args.parse import Parsed

SOURCE = "frontier deployment handbook 4.5; names registered in vLLM"
OPTIONS = ("tokenizer_mode", "tool_call_parser", "reasoning_parser")
NO_FEATURE = {"tool_call_parser": "tool_calling", "reasoning_parser": "reasoning"}


@dataclass(frozen=True, slots=True)
class Family:
    """`marks`: parts of a model's name in lower case, any of them. None: vLLM needs no word for it."""

    marks: tuple[str, ...]
    tool_call_parser: str
    reasoning_parser: str | None
    tokenizer_mode: str | None = None


FAMILIES = (
    Family(("deepseek-v4.1",), "deepseek_v41", "deepseek_v41", "deepseek_v41"),
    Family(("deepseek-v4",), "deepseek_v4", "deepseek_v4", "deepseek_v4"),
    Family(("kimi-k3",), "kimi_k3", "kimi_k3", "kimi_k3"),
    Family(("minimax-m3",), "minimax_m3", "minimax_m3"),
    Family(("glm-5",), "glm47", "glm47"),
    Family(("qwen3.5", "qwen3.8"), "qwen3_coder", "qwen3"),
    Family(("gpt-oss",), "openai", None),
)
"""The first that matches. The tokenizer modes are those that need one: vLLM finds others by the architecture."""


def family_of(model_id: str) -> Family | None:
    name = model_id.rpartition("/")[2].lower()
    return next((one for one in FAMILIES if any(mark in name for mark in one.marks)), None)


def family_words(choice: Choice, said: Parsed, typed: Mapping[str, str]) -> tuple[list[str], list[Reason]]:
    """What the command lacks of its family's words; and a reason for all of them: said, added or `typed` (by dest)."""
    words: list[str] = []
    added: list[str] = []
    family = family_of(choice.model_id)
    for dest in OPTIONS if family else ():
        name = getattr(family, dest)
        if name and dest not in typed and dest not in said.values and _is_taken(choice, dest, name):
            flag = full_flag(load(choice.vllm)["options"][dest])
            words += [flag, name]
            added.append(f"{flag} {name}")
    return words, [*_reasons(said, added, typed), *_others(family, said, typed)]


def _is_taken(choice: Choice, dest: str, name: str) -> bool:
    """Whether this vLLM has the name, and the operator did not switch the feature off that it is all of."""
    is_off = dest == "reasoning_parser" and _was_left_out(choice, dest)
    return not is_off and name in load(choice.vllm)["registries"].get(dest, ())


def _was_left_out(choice: Choice, dest: str) -> bool:
    feature = NO_FEATURE[dest]
    return feature in choice.found.recipe.features and feature not in choice.features.names


def _others(family: Family | None, said: Parsed, typed: Mapping[str, str]) -> Iterator[Reason]:
    """What was typed in place of the family's word."""
    for dest in OPTIONS:
        usual = said.values.get(dest) or getattr(family, dest, None)
        if dest in typed and usual and not typed[dest].endswith(str(usual)):
            rule = "without it calls and thinking may stay in the text, or the prompt be made otherwise"
            yield Reason("parsers", typed[dest], rule, (("the family's", str(usual)),), "typed", warns=True)


def _reasons(said: Parsed, added: list[str], typed: Mapping[str, str]) -> Iterator[Reason]:
    there = [f"{said.given[dest]} {said.values[dest]}" for dest in OPTIONS if dest in {*said.values} - {*typed}]
    if there:
        yield Reason("parsers", ", ".join(there), "the recipe's, for the family of the model", source="recipe")
    if added:
        rule = "the family's, with tools or without: a parser that is missing leaves calls and thinking in the text"
        yield Reason("parsers", ", ".join(added), rule, source=SOURCE)
