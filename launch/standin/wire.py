"""Messages between the processes of a deployment: one JSON object a line, over TCP or a local socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
Address = list[Any]  # ["tcp", host, port] or ["unix", name]; travels inside messages
Serve = Callable[["Link"], Awaitable[None]]

RETRY = (0.05, 1.0)  # seconds between two tries to connect: the first, and the longest
LIMIT = 2**24  # bytes of one message


class Link:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @property
    def peer(self) -> str:
        """`[127.0.0.1]:4000`, as gloo writes an address."""
        name = self.writer.get_extra_info("peername")
        return f"[{name[0]}]:{name[1]}" if isinstance(name, tuple) else "[local]"

    async def send(self, message: Message) -> None:
        """Send, or lose the message when the other side is gone: ZeroMQ does not tell either."""
        if self.writer.is_closing():
            return
        with contextlib.suppress(OSError):
            self.writer.write(json.dumps(message).encode() + b"\n")
            await self.writer.drain()

    async def receive(self) -> Message | None:
        """The next message; None when the other side closed."""
        try:
            line = await self.reader.readline()
            return json.loads(line) if line.endswith(b"\n") else None
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        self.writer.close()


async def connect(address: Address) -> Link:
    """Connect once. Raises `OSError`."""
    if address[0] == "unix":
        pair = await asyncio.open_unix_connection("\0" + address[1], limit=LIMIT)
    else:
        pair = await asyncio.open_connection(address[1], address[2], limit=LIMIT)
    return Link(*pair)


async def reach(address: Address) -> Link:
    """Connect and try again for ever, as ZeroMQ does: silently."""
    pause = RETRY[0]
    while True:
        try:
            return await connect(address)
        except OSError:
            await asyncio.sleep(pause)
            pause = min(pause * 2, RETRY[1])


def bind(host: str, port: int = 0) -> socket.socket:
    """A bound TCP socket that does not listen yet: connections are refused. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def bind_local(name: str) -> socket.socket:
    """A socket in the abstract namespace: it leaves no file behind. `name` must be unique on the host."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.bind("\0" + name)
    return bound


def local_name(purpose: str) -> str:
    return f"bringup-standin-{os.getpid()}-{purpose}"


def address_of(bound: socket.socket) -> Address:
    """What the other side connects to."""
    name = bound.getsockname()
    if bound.family is socket.AF_UNIX:
        return ["unix", name.decode()[1:]]
    return ["tcp", name[0], name[1]]


async def listen(bound: socket.socket, serve: Serve) -> asyncio.Server:
    """Serve each connection to `bound` by `serve` until it returns."""

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(reader, writer)
        try:
            await serve(link)
        finally:
            link.close()

    start = asyncio.start_unix_server if bound.family is socket.AF_UNIX else asyncio.start_server
    return await start(accepted, sock=bound, limit=LIMIT)
