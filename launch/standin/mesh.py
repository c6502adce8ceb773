"""Ranks that compute together: they exchange addresses through a store, connect each to each, and step together.

This is what gloo and NCCL groups are from outside: a peer that is gone is noticed at the next step, not before.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from launch.standin.log import Fault
from launch.standin.network import bind_zmq
from launch.standin.tasks import begin, outcome, settle
from launch.standin.wire import Address, Link, Message, address_of, bind, connect, listen, reach

PLACE = "pair.cc:553"
Notice = Callable[[Message], object]


class Store:
    """The rendezvous (torch's TCPStore): hands out the addresses once all members have left theirs."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.members: dict[str, Address] = {}
        self.full = asyncio.Event()

    async def serve(self, link: Link) -> None:
        message = await link.receive()
        if message is None:
            return
        self.members[str(message["rank"])] = message["address"]
        if len(self.members) == self.size:
            self.full.set()
        await self.full.wait()
        await link.send({"members": self.members})


@dataclass
class Mesh:
    """One member. `step` messages that arrive from a peer are given to `on_step`."""

    rank: int
    size: int
    on_step: Notice = lambda _message: None
    peers: dict[int, Link] = field(default_factory=dict)
    gone: dict[int, str] = field(default_factory=dict)  # rank -> its address
    waiting: dict[str, tuple[set[int], asyncio.Future[None]]] = field(default_factory=dict)
    steps: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def join(self, store: Address, ip: str) -> None:
        """Meet all others. Waits for ever for one that does not come; raises `Fault` for one that is unreachable."""
        bound = bind_zmq(ip)
        await listen(bound, self.accepted)
        link = await reach(store)
        await link.send({"rank": self.rank, "address": address_of(bound)})
        answer = await link.receive()
        if answer is None:
            raise Fault(
                "torch.distributed.DistNetworkError: Connection was likely closed. Did the remote server shutdown?"
            )
        for rank in range(self.rank):
            await self.meet(rank, answer["members"][str(rank)])
        while len(self.peers) < self.size - 1:
            self._changed.clear()
            await self._changed.wait()

    async def meet(self, rank: int, address: Address) -> None:
        try:
            link = await connect(address)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "Connection timed out"
            raise Fault(
                f"RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/{PLACE}] "
                f"connect [{address[1]}]: SO_ERROR: {reason}, remote=[{address[1]}]:{address[2]}"
            ) from None
        await link.send({"rank": self.rank})
        self.add(rank, link)

    async def accepted(self, link: Link) -> None:
        message = await link.receive()
        if message is not None:
            self.add(int(message["rank"]), link)
            await self.read(int(message["rank"]), link)

    def add(self, rank: int, link: Link) -> None:
        self.peers[rank] = link
        self._changed.set()
        if rank < self.rank:
            begin(self.read(rank, link))

    async def read(self, rank: int, link: Link) -> None:
        while (message := await link.receive()) is not None:
            if "ack" in message:
                self.acknowledged(rank, message["ack"])
            else:
                self.on_step(message)
        self.gone[rank] = link.peer
        for _, done in self.waiting.values():
            settle(done, self.peer_gone())

    def acknowledged(self, rank: int, step: str) -> None:
        missing, done = self.waiting.get(step, (set(), None))
        missing.discard(rank)
        if done is not None and not missing:
            settle(done)

    def peer_gone(self) -> Fault:
        address = next(iter(self.gone.values()))
        return Fault(
            f"RuntimeError: [../third_party/gloo/gloo/transport/tcp/{PLACE}] Connection closed by peer {address}"
        )

    def check(self) -> None:
        """Raises `Fault` when a peer is gone: what taking part in a step would find."""
        if self.gone:
            raise self.peer_gone()

    async def acknowledge(self, rank: int, step: str) -> None:
        self.check()
        await self.peers[rank].send({"ack": step})

    async def step(self, call: Callable[[Message], object], limit: float) -> None:
        """One collective step: `call` reaches the others; all must answer within `limit` seconds."""
        self.steps += 1
        name = f"{self.rank}-{self.steps}"
        done = outcome()
        self.waiting[name] = (set(self.peers) - set(self.gone), done)
        try:
            result = call({"step": name, "rank": self.rank})
            if asyncio.iscoroutine(result):
                await result
            self.check()
            async with asyncio.timeout(limit):
                await done
        except TimeoutError:
            raise Fault(
                f"RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
                f"{int(limit * 1000)}ms for recv operation to complete"
            ) from None
        finally:
            del self.waiting[name]


def bind_store(host: str, port: int = 0) -> socket.socket:
    """The store's socket. Raises `Fault` in torch's words."""
    try:
        return bind(host, port)
    except OSError as error:
        word = "EADDRINUSE" if error.errno == errno.EADDRINUSE else error.strerror
        raise Fault(
            f"torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
            f"address. port: {port}, useIpv6: false, code: {error.errno}, name: {word}, message: {error.strerror}"
        ) from None
