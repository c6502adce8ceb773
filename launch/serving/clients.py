"""What a client needs to use a deployment: the exact settings, as lines for a shell. Pure.

The settings of Claude Code and its pitfalls are those of the deployment handbook, section 6.8, checked against vLLM
0.33.0: its middleware takes a key only as `Authorization: Bearer`, which is what ANTHROPIC_AUTH_TOKEN becomes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from inventory.quoting import quote

PREFIX_FIXED = (0, 17, 1)
"""Versions of vLLM above this one take the changing hash of Claude Code's system prompt out by themselves."""
TIERS = ("OPUS", "SONNET", "HAIKU")


@dataclass(frozen=True, slots=True)
class Served:
    """One deployment to a client. `key_file`: on the control machine, None: no key is asked for, or it is not here.

    `urls`: all public endpoints, which serve the same. `calls_tools`: None when the command could not be read.
    """

    urls: tuple[str, ...]
    model: str
    vllm: str
    asks_key: bool
    key_file: str | None
    calls_tools: bool | None
    max_model_len: int | None

    @property
    def key(self) -> str:
        """A word for a shell. The key itself is never printed: the shell reads it from its file."""
        if not self.asks_key:
            return "unused"
        return f'"$(cat {quote(self.key_file)})"' if self.key_file else '"$(cat KEY_FILE)"'


def claude_code(served: Served) -> str:
    lines = [
        f"export ANTHROPIC_BASE_URL={quote(served.urls[0])}",
        f"export ANTHROPIC_AUTH_TOKEN={served.key}",
        # Not left alone: a key of one's own in the environment would be sent here.
        f"export ANTHROPIC_API_KEY={served.key}",
        *(f"export ANTHROPIC_DEFAULT_{tier}_MODEL={quote(served.model)}" for tier in TIERS),
    ]
    if _version(served.vllm) <= PREFIX_FIXED:
        lines.append("export CLAUDE_CODE_ATTRIBUTION_HEADER=0")
    return "\n".join([*lines, "claude"])


def openai(served: Served) -> str:
    return "\n".join(
        [
            f"export OPENAI_BASE_URL={quote(served.urls[0] + '/v1')}",
            f"export OPENAI_API_KEY={served.key}",
            f"export OPENAI_MODEL={quote(served.model)}",
        ]
    )


def curl(served: Served) -> str:
    """A chat completion. The key goes through a file descriptor: an argument would show it to every user."""
    body = {"model": served.model, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 64}
    words = [
        f"curl --fail-with-body {quote(served.urls[0] + '/v1/chat/completions')}",
        "-H 'Content-Type: application/json'",
        f"-d {quote(json.dumps(body))}",
    ]
    if not served.asks_key:
        return " \\\n  ".join(words)
    config = f"printf 'header = \"Authorization: Bearer %s\"\\n' {served.key} |"
    return " \\\n  ".join([config, words[0].replace("curl", "curl --config -", 1), *words[1:]])


CLIENTS: Mapping[str, Callable[[Served], str]] = MappingProxyType(
    {"claude-code": claude_code, "openai": openai, "curl": curl}
)


def remarks(client: str, served: Served) -> tuple[str, ...]:
    """What the operator should know, the gravest first."""
    found = []
    if "/" in served.model and client == "claude-code":
        found.append(f"Claude Code does not know models with a slash in their name: {served.model}")
    if served.calls_tools is False and client != "curl":
        found.append("this deployment does not call tools: deploy with --feature tool_calling, which agents need")
    if served.asks_key and not served.key_file:
        found.append("a key is asked for that is not on this machine: put the path of its file in place of KEY_FILE")
    if client == "claude-code":
        found.append("WebSearch is a tool of Anthropic's servers, vLLM answers 400: use a search server over MCP")
    if client != "curl" and served.max_model_len:
        found.append(f"a request and its answer have {served.max_model_len} tokens together")
    if len(served.urls) > 1:
        found.append(f"the same is served at {', '.join(served.urls[1:])}: spread clients, or put a balancer before")
    return tuple(found)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])
