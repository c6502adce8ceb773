"""Parsers and tokenizer modes that belong to one family of models, on a model that is plainly of another.

vLLM starts with them, and then calls of tools stay text or the answer is empty. Only what the names say is judged:
models whose name names two families (distilled ones) or none of these pass, and so do parsers that several share.
"""

from __future__ import annotations

from collections.abc import Iterator

from launch.vllm_args.parse import Kind, Parsed, Refusal

# What a model's name contains -> how the names of its parsers begin.
FAMILIES = {
    "deepseek": ("deepseek_",),
    "kimi": ("kimi_",),
    "minimax": ("minimax_",),
    "glm": ("glm",),
    "qwen": ("qwen3",),
    "gpt-oss": ("openai",),
    "gemma": ("gemma4", "functiongemma"),
    "mistral": ("mistral",),
    "ernie": ("ernie",),
}
OPTIONS = ("tool_call_parser", "reasoning_parser", "tokenizer_mode")


def foreign_parsers(parsed: Parsed) -> Iterator[Refusal]:
    model = (parsed.model or "").lower()
    own = [family for family in FAMILIES if family in model]
    if len(own) != 1:
        return
    for dest in OPTIONS:
        name = parsed.values.get(dest)
        family = family_of(name) if isinstance(name, str) else None
        if family is not None and family != own[0]:
            reason = f"made for {family}, and the model's name says {own[0]}"
            flag = parsed.given[dest]
            yield Refusal(Kind.CONFLICT, f"{flag} {name}", reason, f"{flag} with a name of {own[0]}")


def family_of(name: str) -> str | None:
    return next((family for family, starts in FAMILIES.items() if name.startswith(starts)), None)
