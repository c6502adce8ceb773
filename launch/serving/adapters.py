"""LoRA adapters that come and go while a deployment serves: on all of its endpoints, or on none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed, CheckFailed, raise_all
from launch.planned.lora import DYNAMIC
from launch.serving.endpoints import Reply, ask, every_reply

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from launch.building.generation import Generation

LOAD_DEADLINE_S = 120.0
NOT_FOUND = 404


def adapters(fleet: Fleet, gang: Generation) -> dict[str, tuple[str, ...]]:
    """The adapters of every endpoint, by its address. Raises when one does not answer."""
    replies = every_reply(ask(fleet, gang, "/v1/models"), gang)
    return {one.url: _named(one.body) for one in replies}


def _named(body: str) -> tuple[str, ...]:
    """A model that has a parent is an adapter."""
    try:
        return tuple(str(one["id"]) for one in json.loads(body)["data"] if one.get("parent"))
    except (ValueError, KeyError, TypeError):
        return ()


def load(fleet: Fleet, gang: Generation, name: str, path: str) -> None:
    """Load the adapter of the folder `path` behind every endpoint and prove it by a completion.

    Raises `ChangeFailed` with the first endpoint that refused; the others have unloaded it again by then.
    """
    before = adapters(fleet, gang)
    _refuse_known(gang, name, before)
    replies, lost = ask(
        fleet, gang, "/v1/load_lora_adapter", body={"lora_name": name, "lora_path": path}, timeout_s=LOAD_DEADLINE_S
    )
    if not lost and all(one.ok for one in replies):
        answers, lost = _completions(fleet, gang, name)
        replies = answers
    failed = [one for one in replies if not one.ok]
    if failed or lost:
        ask(fleet, gang, "/v1/unload_lora_adapter", body={"lora_name": name})
        raise_all(list(lost.values()))
        raise _refused(gang, f"the adapter {name} cannot be served", failed[0])


def unload(fleet: Fleet, gang: Generation, name: str) -> None:
    """Unload the adapter from every endpoint that has it. Raises when one keeps it, or none has it."""
    before = adapters(fleet, gang)
    having = [url for url, names in before.items() if name in names]
    if not having:
        raise CheckFailed(
            f"no endpoint has an adapter {name}",
            id="adapter-unknown",
            observed=", ".join(sorted({one for names in before.values() for one in names})) or "no adapters",
            required="the name of one that is loaded",
            next_command=f"invoke lora.list {gang.flags}",
        )
    replies, lost = ask(fleet, gang, "/v1/unload_lora_adapter", body={"lora_name": name})
    raise_all(list(lost.values()))
    kept = [one for one in replies if one.url in having and not one.ok]
    if kept:
        raise _refused(gang, f"the adapter {name} cannot be unloaded", kept[0])


def _completions(fleet: Fleet, gang: Generation, name: str) -> tuple[tuple[Reply, ...], dict[str, BringupError]]:
    body = {"model": name, "messages": [{"role": "user", "content": gang.prompt}], "max_tokens": gang.max_tokens}
    return ask(fleet, gang, "/v1/chat/completions", body=body, timeout_s=LOAD_DEADLINE_S)


def _refuse_known(gang: Generation, name: str, before: dict[str, tuple[str, ...]]) -> None:
    """Weights under a name that is served already would be mixed with what its cached prefixes were computed with."""
    having = [url for url, names in before.items() if name in names]
    if having:
        raise CheckFailed(
            f"an adapter {name} is loaded already; nothing was changed",
            id="adapter-loaded",
            observed=", ".join(having),
            required="a name of its own, or the earlier one unloaded",
            next_command=f"invoke lora.unload --adapter {name} {gang.flags}",
        )


def _refused(gang: Generation, message: str, reply: Reply) -> ChangeFailed:
    is_closed = reply.status == NOT_FOUND and "not found" in reply.said.lower() and "adapter" not in reply.said.lower()
    return ChangeFailed(
        message,
        id="adapter-refused",
        observed=f"{reply.url}: {reply.said}",
        required=f"a deployment made with --lora-loading dynamic ({DYNAMIC}=1)"
        if is_closed
        else "a folder with an adapter of this model, on every host that serves, of at most --max-lora-rank",
        next_command=f"the deploy command that made it, again with --name {gang.name} --lora-loading dynamic"
        if is_closed
        else f"invoke logs {gang.flags}",
        host=reply.host,
    )
