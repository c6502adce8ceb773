"""Members that step together, over real sockets."""

from __future__ import annotations

import asyncio

import pytest

from launch.standin.log import Fault
from launch.standin.mesh import Mesh, Store, bind_store
from launch.standin.wire import Address, Link, address_of, bind, listen
from tests.unit.launch.standin.forks import in_fork


async def store_of(size: int) -> Address:
    bound = bind_store("127.0.0.1")
    await listen(bound, Store(size).serve)
    return address_of(bound)


async def joined(size: int) -> list[Mesh]:
    store = await store_of(size)
    members = [Mesh(rank, size) for rank in range(size)]
    for member in members:
        answering(member)
    async with asyncio.timeout(10):
        await asyncio.gather(*(member.join(store, "127.0.0.1") for member in members))
    return members


def answering(member: Mesh) -> None:
    tasks = set()
    member.on_step = lambda message: tasks.add(
        asyncio.ensure_future(member.acknowledge(message["rank"], message["step"]))
    )


async def call(member: Mesh, limit: float = 5) -> None:
    async def to_all(message: dict[str, object]) -> None:
        for peer in list(member.peers.values()):
            await peer.send(message)

    await member.step(to_all, limit)


def test_each_member_is_connected_to_each_other_and_can_call_a_step() -> None:
    async def test() -> None:
        members = await joined(4)
        assert all(len(member.peers) == 3 for member in members)
        for member in members:
            await call(member)

    in_fork(test)


def test_a_member_that_does_not_come_is_waited_for() -> None:
    async def test() -> None:
        store = await store_of(2)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Mesh(0, 2).join(store, "127.0.0.1"), 0.3)

    in_fork(test)


def test_a_peer_that_is_gone_is_noticed_at_the_next_step_only() -> None:
    async def test() -> None:
        members = await joined(3)
        for link in members[2].peers.values():
            link.close()
        await asyncio.sleep(0.1)
        with pytest.raises(Fault, match=r"Connection closed by peer \[127.0.0.1\]:\d+"):
            await call(members[0])
        with pytest.raises(Fault, match="Connection closed by peer"):
            members[1].check()

    in_fork(test)


def test_a_silent_peer_times_out() -> None:
    async def test() -> None:
        members = await joined(2)
        members[1].on_step = lambda _message: None
        with pytest.raises(Fault, match="Timed out waiting 200ms for recv operation to complete"):
            await call(members[0], 0.2)

    in_fork(test)


def test_an_address_where_nobody_listens() -> None:
    """What a peer finds whose name, or whose gloo interface, means loopback on another host."""

    async def test() -> None:
        with bind("127.0.0.1") as closed:

            async def answer(link: Link) -> None:
                await link.receive()
                await link.send({"members": {"0": address_of(closed)}})

            store = bind_store("127.0.0.1")
            await listen(store, answer)
            with pytest.raises(Fault, match=r"Gloo connectFullMesh failed .* Connection refused, remote=\[127.0.0.1\]"):
                await Mesh(1, 2).join(address_of(store), "127.0.0.1")

    in_fork(test)


def test_a_taken_master_port() -> None:
    with bind_store("127.0.0.1") as taken:
        taken.listen()
        with pytest.raises(Fault, match="EADDRINUSE"):
            bind_store("127.0.0.1", address_of(taken)[2])
