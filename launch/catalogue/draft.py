"""The draft model that speculative decoding may name: a checkpoint of its own, pinned and downloaded too. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from launch.vllm_args.parse import parse

FLAG, KEY = "--speculative-config", "model"


def draft_of(argv: Sequence[str], version: str) -> str | None:
    """The repository of the draft model that a command names; None: it drafts by itself, or from a folder."""
    found = parse(argv, version).values.get("speculative_config")
    named = found.get(KEY) if isinstance(found, dict) else None
    return named if isinstance(named, str) and named and not named.startswith(("/", "$", ".")) else None


def from_folder(argv: Sequence[str], folder: str) -> tuple[str, ...]:
    """The same command with the draft model read from `folder`, where nothing has to be asked of a hub."""
    words: list[str] = []
    for word in argv:
        before = words[-1] if words else ""
        words.append(_pointed(word, before, folder))
    return tuple(words)


def _pointed(word: str, before: str, folder: str) -> str:
    if before == f"{FLAG}.{KEY}":
        return folder
    flag, equals, value = word.partition("=")
    if equals and flag == f"{FLAG}.{KEY}":
        return f"{flag}={folder}"
    if equals and flag == FLAG:
        return f"{flag}={_of_json(value, folder)}"
    return _of_json(word, folder) if before in {FLAG, "-sc"} else word


def _of_json(text: str, folder: str) -> str:
    try:
        config = json.loads(text)
    except ValueError:
        return text
    if not isinstance(config, dict) or KEY not in config:
        return text
    return json.dumps({**config, KEY: folder}, separators=(",", ":"))
