"""The handshake over real sockets: who may join, who may not."""

from __future__ import annotations

import asyncio

import pytest

from launch.standin.argv import options
from launch.standin.handshake import EngineHandshake, FrontHandshake
from launch.standin.layout import Layout, layout_of
from launch.standin.log import Fault
from launch.standin.wire import address_of, bind
from tests.unit.launch.standin.forks import in_fork

HEAD = "-dp 2 -dpl 1 --data-parallel-address 127.0.0.1"


def layout(words: str, *, moe: bool = False) -> Layout:
    return layout_of(options(["/m", *words.split()], {}, "0.33.0"), moe=moe)


async def meet(head: Layout, *engines: tuple[Layout, int, bool]) -> list[object]:
    """Let `engines` (layout, rank, local) join `head`; what they are told. Raises the head's `Fault`."""
    bound = bind("127.0.0.1")
    address = address_of(bound)
    front = FrontHandshake(head, range(head.size), {"told": "so"})
    meeting = asyncio.ensure_future(front.run(bound))
    answers: list[object] = []
    for of, rank, local in engines:
        engine = EngineHandshake(of, rank, address, local=local)
        hello = asyncio.ensure_future(engine.hello(5))
        await asyncio.wait([hello, meeting], return_when=asyncio.FIRST_COMPLETED)
        if meeting.done():
            hello.cancel()
            meeting.result()
        answers.append(hello.result())
        await engine.ready()
    await asyncio.wait_for(meeting, 5)
    return answers


def test_all_expected_engines_are_told_the_addresses() -> None:
    async def test() -> None:
        follower = layout(f"{HEAD} --headless -dpr 1")
        answers = await meet(layout(HEAD), (layout(HEAD), 0, True), (follower, 1, False))
        assert answers == [{"told": "so"}, {"told": "so"}]

    in_fork(test)


@pytest.mark.parametrize(
    ("words", "rank", "local", "text"),
    [
        (f"{HEAD} --headless -dpr 5", 5, False, "unexpected data parallel rank: 5"),
        (f"{HEAD} --headless", 0, False, "HELLO message from remote engine 0, expected it to be local"),
        (HEAD, 1, True, "HELLO message from local engine 1, expected it to be remote"),
        (HEAD, 1, False, "Remote engine 1 must use --headless"),
    ],
)
def test_an_engine_that_does_not_fit(words: str, rank: int, *, local: bool, text: str) -> None:
    async def test() -> None:
        with pytest.raises(Fault, match=text):
            await meet(layout(HEAD), (layout(words), rank, local))

    in_fork(test)


def test_the_same_rank_twice() -> None:
    async def test() -> None:
        twice = (layout(HEAD), 0, True)
        with pytest.raises(Fault, match="Unexpected HELLO message for local engine 0 in READY state"):
            await meet(layout(HEAD), twice, twice)

    in_fork(test)


def test_ranks_that_step_together_must_agree() -> None:
    async def test() -> None:
        follower = layout(f"{HEAD} --headless -dpr 1 --enable-expert-parallel", moe=True)
        head = layout(HEAD, moe=True)
        with pytest.raises(Fault, match="Configuration mismatch detected for engine 1"):
            await meet(head, (head, 0, True), (follower, 1, False))

    in_fork(test)


def test_an_absent_front_end() -> None:
    async def test() -> None:
        closed = bind("127.0.0.1")
        with pytest.raises(Fault, match="Did not receive response from front-end process within 5 minutes"):
            await EngineHandshake(layout(HEAD), 0, address_of(closed), local=True).hello(0.2)

    in_fork(test)


def test_a_front_end_that_dies_is_not_joined_again() -> None:
    """A hello that was delivered is not repeated: ZeroMQ's sockets do not either."""

    async def test() -> None:
        heard = 0

        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal heard
            await reader.readline()
            heard += 1
            writer.close()

        server = await asyncio.start_server(served, "127.0.0.1", 0)
        address = ["tcp", *server.sockets[0].getsockname()]
        with pytest.raises(Fault):
            await EngineHandshake(layout(HEAD), 0, address, local=True).hello(0.4)
        assert heard == 1
        server.close()

    in_fork(test)
