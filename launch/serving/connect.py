"""Look at a deployment as a client would need to know it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from launch.planned.api_key import kept_key
from launch.serving.clients import Served
from launch.serving.endpoints import Reply, ask, every_reply, stored_command

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from launch.building.generation import Generation

TOOLS = "--enable-auto-tool-choice"


def served(fleet: Fleet, gang: Generation) -> Served:
    """Ask every endpoint what it serves. Raises when one does not answer: its clients would be lost."""
    replies = every_reply(ask(fleet, gang, "/v1/models"), gang)
    key = kept_key(gang.name) if gang.asks_key else None
    return Served(
        urls=tuple(one.url for one in replies),
        model=gang.served_name,
        vllm=gang.vllm,
        asks_key=gang.asks_key,
        key_file=str(key) if key else None,
        calls_tools=_calls_tools(fleet, gang),
        max_model_len=_max_model_len(replies[0], gang.served_name),
    )


def _max_model_len(reply: Reply, model: str) -> int | None:
    try:
        return next((int(one["max_model_len"]) for one in json.loads(reply.body)["data"] if one["id"] == model), None)
    except (ValueError, KeyError, TypeError):
        return None


def _calls_tools(fleet: Fleet, gang: Generation) -> bool | None:
    """Whether the command that the head was started with has the option."""
    stored = stored_command(fleet, gang, gang.members[0].host)
    return None if stored is None else TOOLS in stored.options
