"""Just enough HTTP/1.1 for an API server: keep-alive, JSON, server-sent events, and a client that goes away."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from launch.standin.log import Log
from launch.standin.tasks import begin, first, outcome, settle

BODY_LIMIT = 2**26
HEAD_LIMIT = 2**16


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """`body`, or `events`: the pieces of a stream of server-sent events."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    events: AsyncGenerator[str] | None = None


Connected = Callable[["Client", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Handler = Callable[[Request], Awaitable[Response]]


def as_json(status: int, value: Any) -> Response:  # noqa: ANN401  (what JSON holds)
    return Response(status, json.dumps(value).encode())


class BadRequest(Exception):
    pass


class Client(asyncio.StreamReaderProtocol):
    """One connection, and whether its client has gone away."""

    def __init__(self, connected: Connected) -> None:
        reader = asyncio.StreamReader(limit=HEAD_LIMIT)
        super().__init__(reader, lambda reader, writer: connected(self, reader, writer))
        self.gone = outcome()

    def eof_received(self) -> bool | None:
        settle(self.gone)
        return super().eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        settle(self.gone)
        super().connection_lost(error)


@dataclass
class WebServer:
    handler: Handler
    log: Log

    async def start(self, bound: socket.socket) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        return await loop.create_server(lambda: Client(self.connected), sock=bound)

    async def connected(self, client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                await self.exchange(request, client, writer)
                if request.headers.get("connection", "").lower() == "close":
                    break
        except (OSError, asyncio.IncompleteReadError, BadRequest):
            pass
        finally:
            writer.close()

    async def exchange(self, request: Request, client: Client, writer: asyncio.StreamWriter) -> None:
        """Answer one request; give it up when the client goes away."""
        answering = begin(self.answer(request, writer))
        await first(answering, client.gone)
        if not answering.done():
            answering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await answering
            raise BadRequest
        answering.result()

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        response = await self.handler(request)
        phrase = HTTPStatus(response.status).phrase
        client = writer.get_extra_info("peername") or ("-", 0)
        self.log.access(f"{client[0]}:{client[1]}", f"{request.method} {request.path}", f"{response.status} {phrase}")
        head = f"HTTP/1.1 {response.status} {phrase}\r\nserver: bringup-standin-simulated\r\n"
        if response.events is None:
            head += f"content-type: {response.kind}\r\ncontent-length: {len(response.body)}\r\n\r\n"
            writer.write(head.encode() + response.body)
            await writer.drain()
            return
        writer.write(f"{head}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        async with contextlib.aclosing(response.events) as events:
            async for event in events:
                await chunk(writer, event.encode())
        await chunk(writer, b"")


async def chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request; None when the client has no more."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    try:
        method, target, _ = first.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
        length = int(headers.get("content-length", "0"))
    except ValueError:
        raise BadRequest from None
    if not 0 <= length <= BODY_LIMIT:
        raise BadRequest
    return Request(method, target.partition("?")[0], headers, await reader.readexactly(length))
