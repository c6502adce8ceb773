"""How engines meet the front end: HELLO, an answer with addresses, READY once loaded. Until then the rpc port is open.

The head meets all engines of the deployment; with hybrid or external balancing every other host meets its own
engines as well, over a local socket.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field

from launch.standin.layout import Layout
from launch.standin.log import Fault
from launch.standin.tasks import outcome, settle
from launch.standin.wire import Address, Link, Message, listen, reach

JOIN_TIMEOUT = "BRINGUP_STANDIN_JOIN_TIMEOUT_S"
PLACE = "utils.py:1500"


@dataclass
class FrontHandshake:
    """The front end's side. `expected`: the ranks that must come; those in `local` must come from this host."""

    layout: Layout
    expected: range
    answer: Message
    states: dict[int, str] = field(default_factory=dict)
    complete: asyncio.Future[None] = field(default_factory=outcome)

    async def run(self, bound: socket.socket) -> None:
        """Returns when every expected engine is ready. Raises `Fault` for an engine that does not belong here."""
        server = await listen(bound, self.serve)
        try:
            await self.complete
        finally:
            server.close()

    async def serve(self, link: Link) -> None:
        while (message := await link.receive()) is not None:
            try:
                answer = self.take(message)
            except Fault as fault:
                settle(self.complete, fault)
                return
            if answer is not None:
                await link.send(answer)
            if len(self.states) == len(self.expected) and set(self.states.values()) == {"READY"}:
                settle(self.complete)

    def take(self, message: Message) -> Message | None:
        rank, status = int(message["rank"]), str(message["status"])
        self.judge(rank, status, local=bool(message["local"]), headless=bool(message["headless"]))
        if status == "HELLO" and rank not in self.states:
            self.states[rank] = "HELLO"
            return self.answer
        if status == "READY" and self.states.get(rank) == "HELLO":
            if self.layout.in_step and message["agreement"] != self.layout.agreement:
                raise Fault(mismatch(rank, message["agreement"], self.layout.agreement), PLACE)
            self.states[rank] = "READY"
            return None
        where = "local" if message["local"] else "remote"
        state = self.states.get(rank, "NEW")
        raise Fault(f"RuntimeError: Unexpected {status} message for {where} engine {rank} in {state} state.", PLACE)

    def judge(self, rank: int, status: str, *, local: bool, headless: bool) -> None:
        if rank not in self.expected:
            raise Fault(f"RuntimeError: Message from engine with unexpected data parallel rank: {rank}", PLACE)
        here = rank in self.layout.ranks
        if local != here:
            raise Fault(
                f"RuntimeError: {status} message from {side(local=local)} engine {rank}, expected it to be "
                f"{side(local=here)}",
                PLACE,
            )
        if not local and headless == self.layout.local_only:
            demand = (
                "must not use --headless in external or hybrid dp lb mode"
                if headless
                else "must use --headless unless in external or hybrid dp lb mode"
            )
            raise Fault(f"RuntimeError: Remote engine {rank} {demand}", PLACE)


def side(*, local: bool) -> str:
    return "local" if local else "remote"


def mismatch(rank: int, theirs: str, ours: str) -> str:
    return (
        f"RuntimeError: Configuration mismatch detected for engine {rank}. All DP workers must have identical "
        "configurations for parameters that affect collective communication (e.g., enable_eplb, "
        f"eplb_config.log_balancedness). Worker hash: {theirs}, Expected hash: {ours}. Please ensure all workers "
        "are started with the same command-line arguments."
    )


class EngineHandshake:
    """The engine's side with one front end."""

    def __init__(self, layout: Layout, rank: int, address: Address, *, local: bool) -> None:
        self.address = address
        self.who: Message = {"rank": rank, "local": local, "headless": layout.headless}
        self.agreement = layout.agreement
        self.link: Link | None = None

    async def hello(self, limit: float) -> Message:
        """Meet the front end within `limit` seconds (vLLM: 300). Raises `Fault` when it did not answer."""
        try:
            async with asyncio.timeout(limit):
                self.link = await reach(self.address)
                await self.link.send({"status": "HELLO", **self.who})
                answer = await self.link.receive()
                if answer is None:  # said hello to a front end that is gone: ZeroMQ waits on
                    await asyncio.Event().wait()
                return answer or {}
        except TimeoutError:
            raise Fault(
                "RuntimeError: Did not receive response from front-end process within 5 minutes",
                "core.py:1422",
            ) from None

    async def ready(self) -> None:
        if self.link is not None:
            await self.link.send({"status": "READY", "agreement": self.agreement, **self.who})
            self.link.close()
