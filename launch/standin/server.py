"""One API server: the engines' front, and the HTTP server that listens once all its engines are ready."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass

from launch.standin.api import Api
from launch.standin.front import Front
from launch.standin.host import Host
from launch.standin.log import OWN, Fault, Log
from launch.standin.metrics import Counters
from launch.standin.tasks import asked_to_stop, begin, first
from launch.standin.web import WebServer
from launch.standin.wire import LIMIT, Link

READY_TIMEOUT = "VLLM_ENGINE_READY_TIMEOUT_S"


@dataclass
class ApiServer:
    host: Host
    log: Log
    front: Front

    async def serve(self, http: socket.socket, limit: float | None) -> None:
        """Wait for the engines, then listen. Raises `Fault`."""
        await self.front.engines_ready(limit)
        self.log.says("entry.py:135", "Supported tasks: ('generate',)")
        self.log.says("entry.py:139", f"Starting vLLM server on {listen_address(self.host)}")
        try:
            await WebServer(Api(self.front).handle, self.log).start(http)
        except OSError as error:
            raise Fault(f"OSError: [Errno {error.errno}] {error.strerror}") from None
        self.log.line("WARNING", OWN, "SIMULATED: every answer of this server is made up")
        self.log.plain(f"Started server process [{os.getpid()}]")
        self.log.plain("Waiting for application startup.")
        self.log.plain("Application startup complete.")

    async def until_dead(self) -> None:
        """Returns a while after an engine died: /health is 503 so long. Never where vLLM keeps its server alive."""
        await self.front.dead.wait()
        self.log.warns("core_client.py:840", "[shutdown] MPClient: engine core exited unexpectedly; starting cleanup")
        if self.host.env.get("VLLM_KEEP_ALIVE_ON_ENGINE_DEATH") == "1":
            await asyncio.Event().wait()
        await self.host.pace.take("dead_linger")


def bind_http(host: Host) -> socket.socket:
    """The public socket, bound before anything else starts: connections are refused until it listens."""
    address, port = host.options.text("host"), host.options.number("port", 8000)
    bound = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if host.layout.api_servers > 1:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind((address, port))
    except OSError as error:
        bound.close()
        raise Fault(f"OSError: [Errno {error.errno}] {error.strerror}") from None
    return bound


def listen_address(host: Host) -> str:
    return f"http://{host.options.text('host') or '0.0.0.0'}:{host.options.number('port', 8000)}"  # noqa: S104


async def child(host: Host, index: int, counters: Counters, http: socket.socket, channel: socket.socket) -> int:
    """One of several API servers: a process of its own."""
    log = Log(f"ApiServer_{index}")
    stop = asked_to_stop()
    server = ApiServer(host, log, Front(host, index, counters))
    launcher = Link(*await asyncio.open_connection(sock=channel, limit=LIMIT))
    await launcher.send(await server.front.open())
    life = begin(live(server, http))
    await first(life, stop)
    if stop.done():
        return 0
    try:
        life.result()
    except Fault as fault:
        log.fails("Process failed", fault)
        return 1
    return 0


async def live(server: ApiServer, http: socket.socket) -> None:
    limit = float(server.host.env.get(READY_TIMEOUT) or 600)
    await server.serve(http, limit)
    await server.until_dead()


def run(host: Host, index: int, counters: Counters, http: socket.socket, channel: socket.socket) -> int:
    return asyncio.run(child(host, index, counters, http, channel))
