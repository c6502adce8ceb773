"""Messages over real sockets."""

from __future__ import annotations

import asyncio

import pytest

from launch.standin.wire import Link, Message, address_of, bind, bind_local, connect, listen, reach
from tests.unit.launch.standin.forks import in_fork


async def echo(link: Link) -> None:
    while (message := await link.receive()) is not None:
        await link.send({"echo": message})


@pytest.mark.parametrize("local", [False, True])
def test_messages_come_back_over_tcp_and_a_local_socket(*, local: bool) -> None:
    async def test() -> None:
        bound = bind_local("bringup-test") if local else bind("127.0.0.1")
        await listen(bound, echo)
        link = await connect(address_of(bound))
        for text in ("x", "ä\n", "y" * 100_000):
            await link.send({"text": text})
            assert await link.receive() == {"echo": {"text": text}}

    in_fork(test)


def test_connections_are_refused_until_the_socket_listens_and_then_come() -> None:
    async def test() -> None:
        bound = bind("127.0.0.1")
        with pytest.raises(ConnectionRefusedError):
            await connect(address_of(bound))
        reaching = asyncio.ensure_future(reach(address_of(bound)))
        await asyncio.sleep(0.2)
        assert not reaching.done()
        await listen(bound, echo)
        link = await asyncio.wait_for(reaching, 5)
        assert link.peer.startswith("[127.0.0.1]:")

    in_fork(test)


def test_what_is_sent_to_somebody_who_is_gone_is_lost_without_a_word() -> None:
    async def test() -> None:
        heard: list[Message | None] = []

        async def leave(link: Link) -> None:
            heard.append(await link.receive())

        bound = bind("127.0.0.1")
        await listen(bound, leave)
        link = await connect(address_of(bound))
        for _ in range(20):
            await link.send({"n": 1})
            await asyncio.sleep(0.01)
        assert heard == [{"n": 1}]
        assert await link.receive() is None

    in_fork(test)


@pytest.mark.parametrize("data", [b"not json\n", b'{"half": ', b"\xff\xfe\n"])
def test_what_is_no_message_ends_the_connection(data: bytes) -> None:
    async def test() -> None:
        bound = bind("127.0.0.1")
        await listen(bound, echo)
        _, host, port = address_of(bound)
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(data)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 5) == b""

    in_fork(test)
