"""The routes of the API server: vLLM's paths, statuses and error texts; answers that say that they are simulated."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from launch.standin import metrics
from launch.standin.adapters import Adapters, CannotLoad
from launch.standin.answers import Completion, completion_of
from launch.standin.front import EngineDead, Front
from launch.standin.web import Request, Response, as_json

Route = Callable[[Request], Awaitable[Response]]
DEFAULT_TOKENS = 64
RANK_HEADER = "x-data-parallel-rank"


class Refused(Exception):
    """A request that gets an error answer in vLLM's form."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        error = {"message": message, "type": kind, "param": param, "code": status}
        self.response = as_json(status, {"error": error})


@dataclass
class Api:
    front: Front
    created: int = field(default_factory=lambda: int(time.time()))

    def __post_init__(self) -> None:
        self.host = self.front.host
        self.keys = [*self.host.options.texts("api_key"), *filter(None, [self.host.env.get("VLLM_API_KEY")])]
        self.routes: dict[str, tuple[str, Route]] = {
            "/health": ("GET", self.health),
            "/ping": ("GET POST", self.health),
            "/version": ("GET", self.version),
            "/metrics": ("GET", self.metrics),
            "/v1/models": ("GET", self.models),
            "/v1/completions": ("POST", self.complete),
            "/v1/chat/completions": ("POST", self.complete),
            "/tokenize": ("POST", self.tokenize),
        }
        self.adapters = Adapters(self.host)
        if self.adapters.may_change:
            self.routes["/v1/load_lora_adapter"] = ("POST", self.load_adapter)
            self.routes["/v1/unload_lora_adapter"] = ("POST", self.unload_adapter)

    async def handle(self, request: Request) -> Response:
        methods, route = self.routes.get(request.path, ("", None))
        if route is None:
            return as_json(404, {"detail": "Not Found"})
        if request.method not in methods.split():
            return as_json(405, {"detail": "Method Not Allowed"})
        if request.path.startswith("/v1") and not self.allowed(request):
            return as_json(401, {"error": "Unauthorized"})
        try:
            return await route(request)
        except Refused as refused:
            return refused.response
        except EngineDead:
            return Refused(500, "InternalServerError", EngineDead.CLIENT_MESSAGE).response

    def allowed(self, request: Request) -> bool:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        return not self.keys or (scheme.lower() == "bearer" and key in self.keys)

    async def health(self, _: Request) -> Response:
        return Response(503 if self.front.dead.is_set() else 200, kind="text/plain")

    async def version(self, _: Request) -> Response:
        return as_json(200, {"version": self.host.version, "simulated": True})

    async def metrics(self, _: Request) -> Response:
        page = metrics.text(self.host, self.front.counters).encode()
        return Response(200, page, "text/plain; version=0.0.4; charset=utf-8")

    async def models(self, _: Request) -> Response:
        model = self.host.model
        cards = [self.card(name, model.path) for name in model.names]
        cards += [self.card(name, path, model.names[0]) for name, path in self.adapters.paths.items()]
        return as_json(200, {"object": "list", "data": cards})

    def card(self, name: str, root: str, parent: str | None = None) -> dict[str, Any]:
        return {
            "id": name,
            "object": "model",
            "created": self.created,
            "owned_by": "bringup stand-in (simulated)",
            "root": root,
            "parent": parent,
            "max_model_len": None if parent else self.host.model.max_length,
            "simulated": True,
        }

    async def load_adapter(self, request: Request) -> Response:
        body = self.read(request)
        name, path = str(body.get("lora_name") or ""), str(body.get("lora_path") or "")
        return _done(lambda: self.adapters.load(name, path, in_place=bool(body.get("load_inplace"))))

    async def unload_adapter(self, request: Request) -> Response:
        name = str(self.read(request).get("lora_name") or "")
        return _done(lambda: self.adapters.unload(name))

    async def tokenize(self, request: Request) -> Response:
        words = str(self.read(request).get("prompt", "")).split()
        tokens = list(range(len(words)))
        answer = {"count": len(words), "max_model_len": self.host.model.max_length, "tokens": tokens}
        return as_json(200, {**answer, "simulated": True})

    async def complete(self, request: Request) -> Response:
        body = self.read(request)
        self.check_model(body.get("model"))
        completion = completion_of(body, self.host.model.names[0], chat="chat" in request.path)
        limit = self.limit(body, completion)
        self.check_tools(body)
        words = self.front.generate(completion.prompt, limit, self.rank(request))
        if body.get("stream"):
            usage = bool((body.get("stream_options") or {}).get("include_usage"))
            return Response(200, events=self.stream(completion, words, limit, usage=usage))
        async with aclosing(words):
            text = [word async for word in words]
        return as_json(200, completion.whole(text, limit))

    async def stream(
        self, completion: Completion, words: AsyncGenerator[str], limit: int, *, usage: bool
    ) -> AsyncGenerator[str]:
        """Once the answer has begun, an error is an event of its own."""
        sent: list[str] = []
        try:
            async with aclosing(words):
                async for word in words:
                    if not completion.tool:
                        yield event(completion.piece(word, first=not sent))
                    sent.append(word)
            yield event(completion.last(sent, limit))
            if usage:
                yield event(completion.usage_piece(sent))
        except EngineDead:
            error = {"message": EngineDead.CLIENT_MESSAGE, "type": "InternalServerError", "code": 500}
            yield event({"error": error})
        yield "data: [DONE]\n\n"

    def read(self, request: Request) -> dict[str, Any]:
        try:
            body = json.loads(request.body)
        except ValueError as error:
            raise Refused(400, "Bad Request", f"JSON decode error: {error}") from None
        if not isinstance(body, dict):
            raise Refused(400, "Bad Request", "the body must be a JSON object")
        return body

    def check_model(self, name: object) -> None:
        if name and name not in self.host.model.names and name not in self.adapters.paths:
            raise Refused(404, "NotFoundError", f"The model `{name}` does not exist.", "model")

    def limit(self, body: dict[str, Any], completion: Completion) -> int:
        given = [body[name] for name in ("max_completion_tokens", "max_tokens") if body.get(name) is not None]
        limit = given[0] if given else DEFAULT_TOKENS
        length, asked = self.host.model.max_length, len(completion.prompt.split())
        if not isinstance(limit, int) or limit < 1:
            raise Refused(400, "BadRequestError", f"max_tokens must be at least 1, got {limit}.")
        if asked + limit > length:
            raise Refused(
                400,
                "BadRequestError",
                f"This model's maximum context length is {length} tokens. However, you requested {limit} output "
                f"tokens and your prompt contains {asked} input tokens.",
            )
        return limit

    def check_tools(self, body: dict[str, Any]) -> None:
        auto = body.get("tools") and body.get("tool_choice", "auto") == "auto"
        if auto and not self.host.options.on("enable_auto_tool_choice"):
            raise Refused(
                400,
                "BadRequestError",
                '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            )

    def rank(self, request: Request) -> int | None:
        """The rank that a client asks for by vLLM's header: an index into the ranks that this server serves."""
        text = request.headers.get(RANK_HEADER)
        if text is None:
            return None
        served = self.host.layout.served
        if not text.isdecimal() or int(text) >= len(served):
            raise Refused(400, "BadRequestError", f"data_parallel_rank {text} is out of range [0, {len(served)}).")
        return served[int(text)]


def _done(change: Callable[[], str]) -> Response:
    try:
        return Response(200, change().encode(), "text/plain; charset=utf-8")
    except CannotLoad as error:
        raise Refused(error.status, error.kind, str(error)) from None


def event(value: object) -> str:
    return f"data: {json.dumps(value)}\n\n"
