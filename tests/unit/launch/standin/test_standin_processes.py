"""Forks: what they inherit, how their end is noticed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.standin.processes import Children


def waits(channel: socket.socket) -> int:
    """A child that ends when its parent's end of the channel is closed."""
    channel.sendall(b".")
    channel.recv(1)
    return 7


def stubborn(channel: socket.socket) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel.sendall(b".")
    time.sleep(60)
    return 0


@pytest.fixture
def children() -> Iterator[Children]:
    made = Children()
    yield made
    made.kill()
    for child in made.all:
        child.channel.close()


def test_a_child_sees_that_its_parents_end_is_closed_whatever_siblings_there_are(children: Children) -> None:
    first = children.spawn("first", "VLLM::EngineCore_DP0", waits)
    second = children.spawn("second", "second", waits)
    assert first.channel.recv(1) + second.channel.recv(1) == b".."
    assert Path(f"/proc/{first.pid}/comm").read_text().strip() == "VLLM::EngineCor"
    first.channel.close()
    assert first.reap() == 7
    assert second.running()
    second.channel.close()
    assert second.reap() == 7


def test_the_end_is_awaited_by_several_at_once(children: Children) -> None:
    child = children.spawn("one", "one", waits)

    async def wait() -> list[int]:
        waiting = [asyncio.ensure_future(child.ended()) for _ in range(2)]
        await asyncio.sleep(0)
        os.kill(child.pid, signal.SIGKILL)
        return [await asyncio.wait_for(one, 10) for one in waiting]

    assert asyncio.run(wait()) == [-9, -9]
    assert not child.running()


def test_stop_kills_what_ignores_term(children: Children) -> None:
    child, other = children.spawn("stubborn", "stubborn", stubborn), children.spawn("other", "other", waits)
    assert child.channel.recv(1) == b"."
    asyncio.run(children.stop(0.2))
    assert (child.exit_code, other.exit_code) == (-9, -15)


def test_a_private_socket_is_closed_in_the_child(children: Children) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    children.private.append(listener)
    child = children.spawn("stubborn", "stubborn", stubborn)
    assert child.channel.recv(1) == b"."
    address = listener.getsockname()
    listener.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=5)
    children.kill()
    assert child.exit_code == -9
