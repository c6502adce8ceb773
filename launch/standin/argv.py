"""The command line, read by the option schema of the pinned vLLM (`launch/vllm_args`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from launch.standin.log import write
from launch.vllm_args import Kind, Parsed, Refusal, check, parse

# What argparse itself refuses (exit code 2).
BY_PARSER = (
    Kind.UNKNOWN_FLAG,
    Kind.MISSING_VALUE,
    Kind.UNEXPECTED,
    Kind.BAD_CHOICE,
    Kind.BAD_TYPE,
    Kind.BAD_JSON,
    Kind.UNKNOWN_KEY,
)
# What vLLM only warns of, takes, or refuses in words that layout.py has; the check before a launch is stricter.
NOT_HERE = (Kind.UNREAD_ENV, Kind.ABBREVIATION, Kind.DUPLICATE, Kind.CONFLICT, Kind.UNPROVEN)
USAGE = "usage: vllm serve [model_tag] [options]"


class Options:
    """The given options and vLLM's defaults, by vLLM's own names (`data_parallel_size`)."""

    def __init__(self, parsed: Parsed, refusals: Sequence[Refusal]) -> None:
        self.parsed = parsed
        self.unread_env = [one.token for one in refusals if one.kind is Kind.UNREAD_ENV]
        # The first that vLLM refuses while it builds its configuration.
        self.refused_later = next((one for one in refusals if one.kind not in NOT_HERE), None)
        self.model = parsed.model or ""

    def given(self, dest: str) -> bool:
        return dest in self.parsed.values

    def number(self, dest: str, default: int = 0) -> int:
        value = self.parsed.get(dest)
        return default if value is None else int(value)

    def optional(self, dest: str) -> int | None:
        value = self.parsed.get(dest)
        return None if value is None else int(value)

    def text(self, dest: str, default: str = "") -> str:
        value = self.parsed.get(dest)
        return default if value is None else str(value)

    def on(self, dest: str) -> bool:
        return bool(self.parsed.get(dest))

    def texts(self, dest: str) -> list[str]:
        value = self.parsed.get(dest) or []
        return [str(one) for one in (value if isinstance(value, list) else [value])]

    def non_default(self) -> Mapping[str, object]:
        """What vLLM prints as `non-default args`; secrets are starred as there."""
        shown = {"model_tag": self.model, "model": self.model, **self.parsed.values}
        return {name: "***" if name in ("api_key", "hf_token") else value for name, value in shown.items()}


def options(words: Sequence[str], env: Mapping[str, str], version: str) -> Options:
    """Read the words behind `vllm serve`. What argparse refuses ends the program as argparse does: exit code 2."""
    refusals = check(words, env, version)
    refused = next((one for one in refusals if one.kind in BY_PARSER), None)
    if refused is not None:
        refuse(argparse_text(refused))
    return Options(parse(words, version), refusals)


def argparse_text(refusal: Refusal) -> str:
    """Argparse's own words for `refusal`."""
    flag, _, value = refusal.token.partition(" ")
    if refusal.kind is Kind.BAD_CHOICE:
        return f"argument {flag}: invalid choice: {value!r} ({refusal.reason})"
    if refusal.kind is Kind.BAD_TYPE:
        return f"argument {flag}: invalid value: {value!r} ({refusal.reason})"
    if refusal.kind in (Kind.BAD_JSON, Kind.UNKNOWN_KEY):
        return f"argument {flag}: Value {value} cannot be converted to a configuration ({refusal.reason})"
    if refusal.kind is Kind.MISSING_VALUE:
        return f"argument {flag}: expected at least one argument"
    return f"unrecognized arguments: {refusal.token}"


def refuse(message: str) -> None:
    write(2, f"{USAGE}\nvllm: error: {message}\n")
    sys.exit(2)
