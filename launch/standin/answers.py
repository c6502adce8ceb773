"""The JSON of completions, as OpenAI's API has it. Every answer carries `simulated` and says so in its text."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Completion:
    """One request. `tool`: the function that the answer calls, if the client offered one."""

    id: str
    model: str
    prompt: str
    created: int
    chat: bool
    tool: str

    def head(self, kind: str) -> Json:
        return {
            "id": self.id,
            "object": kind if self.chat else "text_completion",
            "created": self.created,
            "model": self.model,
            "simulated": True,
        }

    def whole(self, words: Sequence[str], limit: int) -> Json:
        choice: Json = {"index": 0, "finish_reason": self.reason(words, limit), "logprobs": None}
        if not self.chat:
            choice["text"] = " ".join(words)
        elif self.tool:
            choice["message"] = self.tool_message()
        else:
            choice["message"] = {"role": "assistant", "content": " ".join(words), "tool_calls": []}
        return {**self.head("chat.completion"), "choices": [choice], "usage": self.usage(words)}

    def tool_message(self) -> Json:
        function = {"name": self.tool, "arguments": json.dumps({"simulated": True})}
        call = {"id": f"chatcmpl-tool-{self.id}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def usage(self, words: Sequence[str]) -> Json:
        """One word counts as one token."""
        asked = len(self.prompt.split())
        return {
            "prompt_tokens": asked,
            "completion_tokens": len(words),
            "total_tokens": asked + len(words),
        }

    def piece(self, word: str, *, first: bool) -> Json:
        text = word if first else f" {word}"
        delta = {"role": "assistant", "content": text} if first else {"content": text}
        content = {"delta": delta} if self.chat else {"text": text}
        return self.chunk([{"index": 0, "finish_reason": None, **content}])

    def last(self, words: Sequence[str], limit: int) -> Json:
        content: Json = {"delta": self.last_delta()} if self.chat else {"text": ""}
        return self.chunk([{"index": 0, "finish_reason": self.reason(words, limit), **content}])

    def last_delta(self) -> Json:
        calls = self.tool_message()["tool_calls"] if self.tool else []
        return {"tool_calls": [{"index": 0, **call} for call in calls]} if calls else {}

    def reason(self, words: Sequence[str], limit: int) -> str:
        if self.tool:
            return "tool_calls"
        return "length" if len(words) >= limit else "stop"

    def usage_piece(self, words: Sequence[str]) -> Json:
        return {**self.chunk([]), "usage": self.usage(words)}

    def chunk(self, choices: list[Json]) -> Json:
        return {**self.head("chat.completion.chunk"), "choices": choices}


def completion_of(body: Json, model: str, *, chat: bool) -> Completion:
    prompt = " ".join(map(text_of, messages_of(body))) if chat else text_of(body.get("prompt", ""))
    kind = "chatcmpl" if chat else "cmpl"
    created = int(time.time())
    return Completion(
        f"{kind}-simulated-{created}-{next(numbers)}",
        str(body.get("model") or model),
        prompt,
        created,
        chat,
        tool_of(body) if chat else "",
    )


def messages_of(body: Json) -> list[object]:
    messages = body.get("messages")
    found = messages if isinstance(messages, list) else []
    return [one.get("content", "") for one in found if isinstance(one, dict)]


def text_of(content: object) -> str:
    """The text of a message: a string, or a list of parts."""
    if isinstance(content, list):
        parts = (part.get("text", "") if isinstance(part, dict) else part for part in content)
        return " ".join(str(part) for part in parts)
    return "" if content is None else str(content)


def tool_of(body: Json) -> str:
    tools = body.get("tools")
    if not isinstance(tools, list) or not tools or body.get("tool_choice") == "none":
        return ""
    function = tools[0].get("function") if isinstance(tools[0], dict) else None
    return str(function.get("name", "")) if isinstance(function, dict) else ""
