"""Whether the pinned vLLM would take a rendered command: asked before any host is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from launch.vllm_args.families import foreign_parsers
from launch.vllm_args.keys import unknown_keys
from launch.vllm_args.names import unknown_names
from launch.vllm_args.parse import Kind, Refusal, load, parse
from launch.vllm_args.rules import conflicts

TYPO = 0.93
"""Likeness of a name that was misspelt; less like is another thing, and no advice."""


def check(argv: Sequence[str], env: Mapping[str, str], version: str) -> tuple[Refusal, ...]:
    """All that is wrong with one command (`argv` with or without `vllm serve`) in its environment.

    Empty: nothing is. A refusal that only `warns` does not stop vLLM. Raises `UnknownVersion`.
    """
    parsed = parse(argv, version)
    found = [*parsed.refusals, *unknown_keys(parsed), *unknown_names(parsed), *foreign_parsers(parsed)]
    return (*found, *conflicts(parsed, env), *unread(env, version))


def unread(env: Mapping[str, str], version: str) -> Iterator[Refusal]:
    """`VLLM_` variables that this version does not read: somebody relies on them and they do nothing."""
    known = load(version)["env"]
    for name in env:
        if name.startswith("VLLM_") and name not in known:
            reason = f"vLLM {version} does not read this environment variable"
            yield Refusal(Kind.UNREAD_ENV, name, reason, next(iter(get_close_matches(name, known, 1, TYPO)), ""))
