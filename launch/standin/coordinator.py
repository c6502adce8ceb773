"""The DP coordinator: one process beside rank 0. It waits for all engines, then tells them when to step together."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import dataclass, field

from launch.standin.layout import Layout
from launch.standin.log import Fault, Log
from launch.standin.network import bind_zmq
from launch.standin.tasks import asked_to_stop
from launch.standin.wire import Link, address_of, listen

NAME = "VLLM_DP_Coordinator"


@dataclass
class Coordinator:
    layout: Layout
    log: Log
    engines: dict[int, Link] = field(default_factory=dict)
    complete: bool = False

    async def run(self, channel: socket.socket) -> int:
        """Report the addresses through `channel` and serve until TERM."""
        local = self.layout.one_host
        publish = bind_zmq(self.layout.address, local="coordinator-publish" if local else "")
        output = bind_zmq(self.layout.address, local="coordinator-output" if local else "")
        await listen(publish, self.subscribed)
        await listen(output, self.notified)
        channel.sendall(json.dumps([address_of(publish), address_of(output)]).encode() + b"\n")
        await asked_to_stop()
        return 0

    async def subscribed(self, link: Link) -> None:
        message = await link.receive()
        if message is None:
            return
        self.engines[int(message["rank"])] = link
        if len(self.engines) == self.layout.size and not self.complete:
            self.complete = True
            for engine in self.engines.values():
                await engine.send({"ready": True})
            self.log.says("coordinator.py:224", "All engine subscriptions received by DP coordinator")
        while await link.receive() is not None:
            pass

    async def notified(self, link: Link) -> None:
        """An engine starts a step: all others must take part."""
        while (message := await link.receive()) is not None:
            for rank, engine in self.engines.items():
                if rank != message["rank"]:
                    await engine.send({"step": message["step"], "rank": message["rank"]})


def run(layout: Layout, channel: socket.socket) -> int:
    """The coordinator's process."""
    log = Log(NAME)
    try:
        return asyncio.run(Coordinator(layout, log).run(channel))
    except Fault as fault:
        log.fails("DP Coordinator failed to start.", fault)
        return 1
