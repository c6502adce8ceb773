"""An engine core: joins, lets its workers load, answers requests. Knows nothing of the main process once it runs.

When an API server's connection ends it stays, as vLLM's engines do: after `kill -9` of the main process engines are
orphans that hold their GPUs.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from dataclasses import dataclass, field
from functools import partial

from launch.standin.failures import Leaves, Phase, Process
from launch.standin.handshake import EngineHandshake
from launch.standin.host import ENGINE_TIMEOUT, Host
from launch.standin.log import Fault, Log
from launch.standin.mesh import Mesh, Store, bind_store
from launch.standin.network import gloo_ip
from launch.standin.processes import Children
from launch.standin.tasks import asked_to_stop, begin, first, outcome, settle
from launch.standin.team import Team
from launch.standin.wire import Address, Link, Message, listen, reach
from launch.standin.words import answer_words
from launch.standin.worker import join_nodes, worker_name
from launch.standin.worker import run as run_worker

READY = b"ready\n"  # an engine's word to its main process


@dataclass
class Engine:
    """`head_address`: the deployment's front end; `own_address`: this host's, where it is another one."""

    host: Host
    rank: int
    log: Log
    children: Children
    head_address: Address
    own_address: Address | None
    channel: socket.socket  # to the main process
    mesh: Mesh | None = None
    coordinator: Link | None = None
    outputs: list[Link] = field(default_factory=list)  # one for each API server
    dead: asyncio.Future[None] = field(default_factory=outcome)

    def __post_init__(self) -> None:
        self.team = Team(self.host, self.rank, self.log, self.children, self.die)

    async def start(self) -> None:
        """Everything up to READY. Raises `Fault`."""
        began = time.monotonic()
        await self.strike(Phase.JOIN)
        handshakes, addresses = await self.join()
        await self.form_group(addresses)
        if self.rank == self.host.layout.start:
            self.log.says("core.py:140", self.configuration())
        await self.team.load()
        took = f"{time.monotonic() - began:.2f} s"
        self.log.says("core.py:406", f"init engine (profile, create kv cache, warmup model) took {took}")
        await self.meet(addresses)
        for handshake in handshakes:
            await handshake.ready()
        with contextlib.suppress(OSError):  # the main process may be gone: an engine runs on without it
            self.channel.send(READY)

    def configuration(self) -> str:
        layout = self.host.layout
        return (
            f"Initializing a V1 LLM engine (v{self.host.version}) with config: model={self.host.model.path!r}, "
            f"tensor_parallel_size={layout.tensor_parallel}, data_parallel_size={layout.size} (SIMULATED)"
        )

    async def strike(self, phase: Phase) -> None:
        await self.host.failures.strike(Process.ENGINE, phase, (self.rank,), self.log)

    async def join(self) -> tuple[list[EngineHandshake], Message]:
        """Meet the head, and this host's own front end where it is another one."""
        layout, limit = self.host.layout, self.host.join_limit(ENGINE_TIMEOUT)
        local = not layout.headless and self.own_address is None
        head = EngineHandshake(layout, self.rank, self.head_address, local=local)
        addresses = await head.hello(limit)
        if self.own_address is None:
            return [head], addresses
        own = EngineHandshake(layout, self.rank, self.own_address, local=True)
        return [head, own], addresses | {"fronts": (await own.hello(limit))["fronts"]}

    async def form_group(self, addresses: Message) -> None:
        """The group of the ranks that step together, or of the hosts that one rank spans."""
        layout = self.host.layout
        if layout.in_step:
            self.mesh = Mesh(self.rank, layout.size, on_step=self.stepped)
            await self.mesh.join(addresses["store"], gloo_ip(self.host.env))
        elif layout.nodes_of_rank > 1:
            store = bind_store(layout.master_address, layout.master_port)
            await listen(store, Store(layout.nodes_of_rank).serve)
            self.mesh = Mesh(0, layout.nodes_of_rank)
            await join_nodes(self.host, self.log, self.mesh)

    async def meet(self, addresses: Message) -> None:
        """Connect to the API servers and the coordinator, and wait for the coordinator's word."""
        meeting = begin(self.connect(addresses))
        while not (await asyncio.wait([meeting], timeout=self.host.pace.seconds("ready_log")))[0]:
            if addresses["coordinator"]:
                self.log.says("core.py:1285", "Waiting for READY message from DP Coordinator...")
        for link in meeting.result():
            await link.send({"rank": self.rank, "ready": True})
            begin(self.requests(link))

    async def connect(self, addresses: Message) -> list[Link]:
        """All at once, as ZeroMQ does; the links on which requests will come."""
        fronts, coordinator = addresses["fronts"], addresses["coordinator"] or []
        places = [*(front["input"] for front in fronts), *(front["output"] for front in fronts), *coordinator]
        links = await asyncio.gather(*map(reach, places))
        self.outputs = links[len(fronts) : 2 * len(fronts)]
        if coordinator:
            publish, self.coordinator = links[-2:]
            await publish.send({"rank": self.rank})
            if await publish.receive() is None:
                raise Fault("RuntimeError: Input socket thread died during startup", "core.py:1283")
            begin(self.coordinated(publish))
        return links[: len(fronts)]

    async def coordinated(self, link: Link) -> None:
        while (message := await link.receive()) is not None:
            self.stepped(message)

    def stepped(self, message: Message) -> None:
        begin(self.take_part(message))

    async def take_part(self, message: Message) -> None:
        """Another rank steps: answer it, or find that a peer is gone."""
        try:
            if self.mesh is not None:
                await self.mesh.acknowledge(message["rank"], message["step"])
        except Fault as fault:
            self.die(fault)

    def die(self, fault: Fault) -> None:
        settle(self.dead, fault)

    async def requests(self, link: Link) -> None:
        """The requests of one API server. That it is gone changes nothing here."""
        while (message := await link.receive()) is not None:
            begin(self.request(message))

    async def request(self, message: Message) -> None:
        try:
            await self.strike(Phase.REQUEST)
            await self.team.meet(Phase.REQUEST)
            if self.mesh is not None:
                await self.mesh.step(self.call, self.host.step_limit)
            await self.generate(message)
        except Fault as fault:
            self.die(fault)

    async def call(self, message: Message) -> None:
        """Call the others to a step: by the coordinator, without which they do not come, or directly."""
        if self.coordinator is not None:
            await self.coordinator.send(message)
            return
        for peer in list(self.mesh.peers.values()) if self.mesh else ():
            await peer.send(message)

    async def generate(self, message: Message) -> None:
        output, who = self.outputs[message["front"]], {"id": message["id"], "rank": self.rank}
        for word in answer_words(message["prompt"], message["max_tokens"]):
            await self.host.pace.take("token")
            await output.send({**who, "word": word})
        await output.send({**who, "end": True})

    async def serve(self) -> None:
        """For ever. What is injected after the start strikes here."""
        await self.host.pace.take("after_ready")
        await self.strike(Phase.READY)
        await self.team.meet(Phase.READY)
        await asyncio.Event().wait()


async def core(engine: Engine) -> int:
    """The engine's life; the exit code of its process."""
    stop = asked_to_stop()
    engine.log.banner()
    text = "EngineCore failed to start."
    for stage in (engine.start, engine.serve):
        running = begin(stage())
        await first(running, stop, engine.dead)
        if stop.done():
            return await shut_down(engine)
        over = engine.dead if engine.dead.done() else running
        fault = over.exception()
        if isinstance(fault, Fault):
            return await fail(engine, text, fault)
        if isinstance(fault, Leaves):
            await engine.team.stop()
            return 0
        over.result()
        text = "EngineCore encountered a fatal error."
    return 0


async def fail(engine: Engine, text: str, fault: Fault) -> int:
    engine.log.fails(text, fault)
    for output in engine.outputs:
        await output.send({"rank": engine.rank, "dead": True})
    await engine.team.stop()
    return 1


async def shut_down(engine: Engine) -> int:
    engine.log.says("core.py:1500", "[shutdown] EngineCore: trigger received signal=SIGTERM")
    await engine.host.pace.take("stop_headless" if engine.host.layout.headless else "stop")
    engine.log.says("core.py:1640", "[shutdown] EngineCore: request processing complete; starting resource teardown")
    await engine.team.stop()
    return 0


def engine_name(host: Host, rank: int) -> str:
    return f"EngineCore_DP{rank}" if host.layout.size > 1 else "EngineCore"


def run(host: Host, rank: int, head: Address, own: Address | None, channel: socket.socket) -> int:
    """The engine's process: forks its workers first, while it has no connection that they could inherit."""
    children = Children()
    children.private.append(channel)
    for index in range(host.layout.workers):
        name = worker_name(host, rank, index)
        children.spawn(name, f"VLLM::{name}", partial(run_worker, host, rank, index))

    async def life() -> int:
        return await core(Engine(host, rank, Log(engine_name(host, rank)), children, head, own, channel))

    return asyncio.run(life())
