"""The main process of a host that serves: the API server itself, or the launcher of several.

What it does, in vLLM's order: bind the HTTP port, start the coordinator (beside rank 0) and the engines, meet the
engines, serve; stop on TERM, or when an engine of this host dies.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from dataclasses import dataclass, field
from functools import partial

from launch.standin import coordinator, engine, server
from launch.standin.failures import Phase, Process
from launch.standin.front import Front
from launch.standin.handshake import FrontHandshake
from launch.standin.host import Host
from launch.standin.log import Fault, Log
from launch.standin.mesh import Store, bind_store
from launch.standin.metrics import Counters
from launch.standin.network import bind_zmq
from launch.standin.processes import Child, Children
from launch.standin.server import ApiServer
from launch.standin.tasks import asked_to_stop, begin, first, outcome, settle
from launch.standin.wire import LIMIT, Address, Link, Message, address_of, listen

STOP_GRACE = 5.0  # seconds until children that ignore TERM are killed


@dataclass
class Head:
    """A host with API servers: the head of a deployment, or with hybrid and external balancing any host."""

    host: Host
    log: Log
    children: Children
    http: socket.socket
    handshake: socket.socket
    counters: Counters
    coordinator: Child | None = None
    engines: list[Child] = field(default_factory=list)
    servers: list[Child] = field(default_factory=list)

    def start_processes(self) -> None:
        """Fork all children, before this process has an event loop or a connection."""
        layout = self.host.layout
        self.children.private += [self.handshake, self.http]
        if layout.coordinated and layout.start == 0:
            self.coordinator = self.children.spawn(
                coordinator.NAME, "VLLM::DPCoordinator", partial(coordinator.run, layout)
            )
            self.log.says("utils.py:1279", f"Started DP Coordinator process (PID: {self.coordinator.pid})")
        head, own = self.meeting_places()
        for rank in layout.ranks:
            name = engine.engine_name(self.host, rank)
            self.engines.append(
                self.children.spawn(
                    name,
                    f"VLLM::{name}",
                    partial(engine.run, self.host, rank, head, own),
                )
            )
        if layout.api_servers > 1:
            self.children.private.remove(self.http)
            self.start_servers()

    def start_servers(self) -> None:
        for index in range(self.host.layout.api_servers):
            child = self.children.spawn(
                f"ApiServer_{index}",
                f"VLLM::APIServer_{index}",
                partial(server.run, self.host, index, self.counters, self.http),
            )
            self.servers.append(child)
        self.http.close()

    def meeting_places(self) -> tuple[Address, Address | None]:
        """Where this host's engines shake hands: with rank 0's host, and here when that is another host."""
        here, layout = address_of(self.handshake), self.host.layout
        return (here, None) if layout.start == 0 else (["tcp", layout.address, layout.rpc_port], here)

    async def live(self) -> None:
        """Until the end of the deployment on this host. Raises `Fault` for a failure at start."""
        front = Front(self.host, 0, self.counters) if not self.servers else None
        fronts = [await front.open()] if front else [await told(child) for child in self.servers]
        await self.meet(fronts)
        if front is None:
            await self.launcher()
            return
        api = ApiServer(self.host, self.log, front)
        await api.serve(self.http, None)
        for child in self.engines:
            begin(self.watch(child, front))
        await self.until(begin(api.until_dead()))

    async def until(self, end: asyncio.Future[None]) -> None:
        """Wait for `end`; what is injected into the main process strikes meanwhile (and may end it)."""
        await self.host.pace.take("after_ready")
        await self.host.failures.strike(Process.MAIN, Phase.READY, self.host.layout.ranks, self.log)
        await end

    async def watch(self, child: Child, front: Front) -> None:
        await child.ended()
        front.die()

    async def meet(self, fronts: list[Message]) -> None:
        """The handshake with the engines, and the store of those that step together. Raises `Fault`."""
        layout = self.host.layout
        addresses: Message = {"fronts": fronts, "coordinator": None, "store": None}
        if self.coordinator is not None:
            addresses["coordinator"] = await told(self.coordinator)
        if layout.in_step and layout.start == 0:
            store = bind_store("0.0.0.0")  # noqa: S104  (as torch's store)
            await listen(store, Store(layout.size).serve)
            addresses["store"] = ["tcp", layout.address, store.getsockname()[1]]
        expected = range(layout.size) if layout.start == 0 else layout.ranks
        meeting = FrontHandshake(layout, expected, addresses)
        await self.while_all_run(begin(meeting.run(self.handshake)))

    async def while_all_run(self, work: asyncio.Future[None]) -> None:
        """Wait for `work`; raises `Fault` when one of the children ends before."""
        ends = {begin(child.ended()): child for child in self.children.all}
        await first(work, *ends)
        finished = {child.name: task.result() for task, child in ends.items() if task.done()}
        for task in ends:
            task.cancel()
        if finished and not work.done():
            raise Fault(start_failure(finished), "utils.py:1470")
        work.result()

    async def launcher(self) -> None:
        """Several API servers: wait for any child that fails. One that ends with code 0 is not missed."""
        self.log.says("utils.py:545", "Waiting for API servers to complete ...")
        over = outcome()
        for child in self.children.all:
            begin(self.judge(child, over))
        await self.until(over)

    async def judge(self, child: Child, over: asyncio.Future[None]) -> None:
        code = await child.ended()
        if code:
            text = f"RuntimeError: Process {child.name} (PID: {child.pid}) died with exit code {code}"
            if child in self.engines:
                text = f"RuntimeError: Engine core process {child.name} died unexpectedly."
            settle(over, Fault(text, "utils.py:593"))


async def told(child: Child) -> Message:
    """What a child reports about itself when it has bound its sockets. Raises `Fault` when it died instead."""
    answer = await Link(*await asyncio.open_connection(sock=child.channel, limit=LIMIT)).receive()
    if answer is None:
        raise Fault(start_failure({child.name: await child.ended()}))
    return answer


def start_failure(finished: dict[str, int]) -> str:
    servers = {name: code for name, code in finished.items() if name.startswith("ApiServer")}
    engines = {name: code for name, code in finished.items() if name not in servers}
    if not engines:
        return (
            "RuntimeError: Frontend process failed during engine core initialization. See root cause above. "
            f"Failed frontend proc(s): {servers}"
        )
    more = f", failed frontend proc(s): {servers}" if servers else ""
    return (
        f"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {engines}{more}"
    )


def bind_handshake(host: Host) -> socket.socket:
    """The rpc port on rank 0's host; elsewhere, and where all ranks are on one host, a local socket."""
    layout = host.layout
    local = layout.start > 0 or layout.one_host
    return bind_zmq(layout.address, layout.rpc_port, local="handshake" if local else "")


def run(host: Host, log: Log, children: Children) -> int:
    """The main process; its exit code. Raises `Fault` for a failure at start."""
    http = server.bind_http(host)
    counters = Counters(host.layout.api_servers, host.layout.served)
    head = Head(host, log, children, http, bind_handshake(host), counters)
    head.start_processes()
    return asyncio.run(until_stopped(head))


async def until_stopped(head: Head) -> int:
    stop = asked_to_stop(signal.SIGTERM, signal.SIGINT)
    life = begin(head.live())
    await first(life, stop)
    if not stop.done():
        try:
            life.result()
        finally:
            await head.children.stop(STOP_GRACE)
        return 0
    life.cancel()
    head.log.says("launcher.py:230", "[shutdown] API server: shutdown triggered")
    await head.children.stop(STOP_GRACE + head.host.pace.seconds("stop"))
    head.log.says("launcher.py:280", "[shutdown] API server: shutting down FastAPI HTTP server")
    return 0
