"""An API server's side of the engines: where they connect, which of them gets a request, and that one of them died.

That an engine on another host is gone is not noticed here (ZeroMQ tells nobody): requests that go to it wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from launch.standin.host import Host
from launch.standin.log import Fault
from launch.standin.metrics import Counters
from launch.standin.network import bind_zmq
from launch.standin.wire import Link, Message, address_of, listen


class EngineDead(Exception):
    """What vLLM tells clients then."""

    CLIENT_MESSAGE = "The server had an error while processing your request."


@dataclass
class Front:
    host: Host
    index: int
    counters: Counters
    inputs: dict[int, Link] = field(default_factory=dict)  # rank -> where its requests go
    pending: dict[int, asyncio.Queue[Message]] = field(default_factory=dict)
    dead: asyncio.Event = field(default_factory=asyncio.Event)
    _announced: asyncio.Event = field(default_factory=asyncio.Event)
    _turn: int = 0
    _requests: int = 0

    async def open(self) -> Message:
        """Listen; the addresses that engines are told."""
        layout = self.host.layout
        local = layout.local_only or layout.one_host
        name = f"front{self.index}"
        inputs = bind_zmq(layout.address, local=f"{name}-input" if local else "")
        outputs = bind_zmq(layout.address, local=f"{name}-output" if local else "")
        await listen(inputs, self.announced)
        await listen(outputs, self.answered)
        return {"input": address_of(inputs), "output": address_of(outputs)}

    async def announced(self, link: Link) -> None:
        message = await link.receive()
        if message is None:
            return
        self.inputs[int(message["rank"])] = link
        self._announced.set()
        while await link.receive() is not None:
            pass

    async def answered(self, link: Link) -> None:
        while (message := await link.receive()) is not None:
            if message.get("dead"):
                self.die()
            elif (waiting := self.pending.get(message.get("id", -1))) is not None:
                waiting.put_nowait(message)

    async def engines_ready(self, limit: float | None) -> None:
        """Wait for all engines. `limit` seconds may pass between two of them, else `Fault`."""
        while set(self.inputs) != set(self.host.layout.served):
            self._announced.clear()
            try:
                async with asyncio.timeout(limit):
                    await self._announced.wait()
            except TimeoutError:
                raise Fault(
                    "TimeoutError: Timed out waiting for engine core processes to start. This is often caused by "
                    f"slow weight loading for large models. Waited {limit:.0f}s (configured by "
                    "VLLM_ENGINE_READY_TIMEOUT_S). To increase the timeout, set the environment variable: "
                    "VLLM_ENGINE_READY_TIMEOUT_S=<seconds>",
                    "core_client.py:764",
                ) from None

    def die(self) -> None:
        """An engine is dead: every request fails, now and later."""
        self.dead.set()
        for waiting in self.pending.values():
            waiting.put_nowait({"dead": True})

    def next_rank(self) -> int:
        """In turn; each API server begins with another rank."""
        served, layout = self.host.layout.served, self.host.layout
        first = len(served) * self.index // max(layout.api_servers, 1)
        rank = served[(first + self._turn) % len(served)]
        self._turn += 1
        return rank

    async def generate(self, prompt: str, max_tokens: int, rank: int | None = None) -> AsyncGenerator[str]:
        """The words of an answer. Waits for ever for a rank that is gone; raises `EngineDead`."""
        if self.dead.is_set():
            raise EngineDead
        rank = self.next_rank() if rank is None else rank
        self._requests += 1
        number, answers = self._requests, asyncio.Queue[Message]()
        self.pending[number] = answers
        self.counters.add(self.index, rank, "running", 1)
        try:
            self.counters.add(self.index, rank, "prompt_tokens", len(prompt.split()))
            request = {"id": number, "front": self.index, "prompt": prompt, "max_tokens": max_tokens}
            await self.inputs[rank].send(request)
            while "end" not in (message := await answers.get()):
                if "dead" in message:
                    raise EngineDead
                self.counters.add(self.index, rank, "generation_tokens", 1)
                yield str(message["word"])
            self.counters.add(self.index, rank, "requests", 1)
        finally:
            del self.pending[number]
            self.counters.add(self.index, rank, "running", -1)
