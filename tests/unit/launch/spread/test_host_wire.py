"""What goes over a connection: proofs of the secret, and bytes in whatever pieces the network makes of them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from launch.spread.host import wire
from launch.spread.host.wire import Reply, Request, Stranger

KEY = wire.key_of(b"secret", "a" * 64)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    door = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(door.getsockname())
    other, _ = door.accept()
    for each in (one, other):
        wire.timeouts(each, 5, 5)
    yield one, other
    for each in (one, other, door):
        each.close()


def beside(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_who_has_the_secret_is_welcome_by_name(pair: tuple[socket.socket, socket.socket]) -> None:
    asks, lends = pair
    thread = beside(lambda: wire.greet(asks, "tray1", KEY))
    assert wire.welcome(lends, KEY) == "tray1"
    thread.join(5)


@pytest.mark.parametrize("other", [wire.key_of(b"another", "a" * 64), wire.key_of(b"secret", "b" * 64)])
def test_another_secret_or_another_parcel_is_a_stranger(
    pair: tuple[socket.socket, socket.socket], other: bytes
) -> None:
    asks, lends = pair

    def greet() -> None:
        with pytest.raises((Stranger, ConnectionError)):
            wire.greet(asks, "tray1", other)

    thread = beside(greet)
    with pytest.raises(Stranger):
        wire.welcome(lends, KEY)
    lends.close()
    thread.join(5)
    assert not thread.is_alive()


def test_who_lends_must_prove_the_secret_too(pair: tuple[socket.socket, socket.socket]) -> None:
    asks, lends = pair

    def pretend() -> None:
        wire.receive_bytes(lends, len(wire.MAGIC) + wire.NONCE + 1 + len("tray1"))
        wire.send(lends, bytes(wire.NONCE))
        proof = wire.receive_bytes(lends, 32)
        wire.send(lends, proof)  # sends back what it was shown

    thread = beside(pretend)
    with pytest.raises(Stranger):
        wire.greet(asks, "tray1", KEY)
    thread.join(10)


def test_the_secret_itself_never_goes_out(pair: tuple[socket.socket, socket.socket]) -> None:
    asks, lends = pair
    wire.timeouts(asks, 1, 1)

    def greet() -> None:
        with pytest.raises((OSError, Stranger)):
            wire.greet(asks, "tray1", KEY)

    thread = beside(greet)
    hello = wire.receive_bytes(lends, len(wire.MAGIC) + wire.NONCE + 1 + len("tray1"))
    wire.send(lends, bytes(wire.NONCE))
    proof = wire.receive_bytes(lends, 32)
    thread.join(10)
    assert KEY not in hello + proof
    assert b"secret" not in hello + proof


def test_another_protocol_is_a_stranger(pair: tuple[socket.socket, socket.socket]) -> None:
    asks, lends = pair
    asks.sendall(b"GET / HTTP/1.1\r\nHost: tray1.example.net:31337\r\n\r\n" + bytes(80))
    with pytest.raises(Stranger):
        wire.welcome(lends, KEY)


def test_silence_ends_after_its_time_and_an_end_is_one(pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    wire.timeouts(one, 0.2, 5)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        wire.receive_bytes(one, 1)
    assert 0.1 < time.monotonic() - began < 4
    other.sendall(b"ab")
    other.close()
    with pytest.raises(ConnectionError):
        wire.receive_bytes(one, 3)


def test_what_nobody_takes_ends_after_its_time(pair: tuple[socket.socket, socket.socket]) -> None:
    one, _ = pair
    wire.timeouts(one, 5, 0.2)
    with pytest.raises(TimeoutError):
        wire.send(one, bytes(64 << 20))


def test_requests_and_replies_are_what_they_were(pair: tuple[socket.socket, socket.socket]) -> None:
    one, other = pair
    asked, said = Request(wire.ASK, 7, 3, 64, 5), Reply(wire.DATA, 3, wire.PIECE, b"s" * 32)
    wire.send(one, asked.pack() + said.pack())
    assert wire.read_request(other) == asked
    assert wire.read_reply(other) == said


def test_a_long_name_is_cut_and_still_greets(pair: tuple[socket.socket, socket.socket]) -> None:
    asks, lends = pair
    thread = beside(lambda: wire.greet(asks, "h" * 300, KEY))
    assert wire.welcome(lends, KEY) == "h" * 255
    thread.join(10)
