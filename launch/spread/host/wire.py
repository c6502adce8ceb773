"""What two hosts say to each other: a greeting in which both prove the secret, requests, and pieces in reply."""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
from typing import NamedTuple

PIECE = 4 << 20  # bytes
MAGIC = b"bringup-spread-1"
NONCE = 32
NAME_LIMIT = 255

# Requests: pieces of a file from `first` on, at most `most`; of those before `same_until` the sum is enough.
ASK, COMPLAIN = 1, 2
REQUEST = struct.Struct(">BIIII")
# Replies: `sum` is that of the file's beginning up to the end of the piece, so that the last one is the file's own.
DATA, SAME, NOT_YET, CANNOT = 1, 2, 3, 4
REPLY = struct.Struct(">BII32s")


class Request(NamedTuple):
    kind: int
    file: int
    first: int = 0
    most: int = 0
    same_until: int = 0

    def pack(self) -> bytes:
        return REQUEST.pack(*self)


class Reply(NamedTuple):
    kind: int
    piece: int = 0
    length: int = 0
    sum: bytes = bytes(32)

    def pack(self) -> bytes:
        return REPLY.pack(*self)


class Stranger(Exception):
    """Who is at the other end does not have the secret, or spreads something else."""


def timeouts(connection: socket.socket, receive_s: float, send_s: float) -> None:
    """Let the kernel end calls in which nothing comes or goes; Python's own would cost a call for each packet."""
    for option, seconds in ((socket.SO_RCVTIMEO, receive_s), (socket.SO_SNDTIMEO, send_s)):
        packed = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
        connection.setsockopt(socket.SOL_SOCKET, option, packed)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def receive(connection: socket.socket, view: memoryview) -> None:
    """Fill `view`. Raises `TimeoutError` when nothing comes for the connection's time, `ConnectionError` at its end."""
    filled = 0
    while filled < len(view):
        try:
            count = connection.recv_into(view[filled:], 0, socket.MSG_WAITALL)
        except BlockingIOError:
            raise TimeoutError("nothing came") from None
        if not count:
            raise ConnectionError("the other side closed the connection")
        filled += count


def receive_bytes(connection: socket.socket, size: int) -> bytes:
    buffer = bytearray(size)
    receive(connection, memoryview(buffer))
    return bytes(buffer)


def send(connection: socket.socket, data: bytes) -> None:
    try:
        connection.sendall(data)
    except BlockingIOError:
        raise TimeoutError("nothing was taken") from None


def key_of(secret: bytes, parcel: str) -> bytes:
    """The key of one spread: who spreads something else does not have it."""
    return hmac.new(secret, parcel.encode(), hashlib.sha256).digest()


def greet(connection: socket.socket, name: str, key: bytes) -> None:
    """Begin as the one that asks. Raises `Stranger` when the other side does not prove that it has the key."""
    hello = MAGIC + os.urandom(NONCE) + _counted(name)
    send(connection, hello)
    nonce = receive_bytes(connection, NONCE)
    send(connection, _proof(key, b"asks", hello, nonce))
    if not hmac.compare_digest(receive_bytes(connection, 32), _proof(key, b"lends", hello, nonce)):
        raise Stranger("the other side does not have the secret of this spread")


def welcome(connection: socket.socket, key: bytes) -> str:
    """Begin as the one that lends; returns who asks. Raises `Stranger`."""
    begin = receive_bytes(connection, len(MAGIC) + NONCE + 1)
    if begin[: len(MAGIC)] != MAGIC:
        raise Stranger("this is another protocol")
    hello, nonce = begin + receive_bytes(connection, begin[-1]), os.urandom(NONCE)
    send(connection, nonce)
    if not hmac.compare_digest(receive_bytes(connection, 32), _proof(key, b"asks", hello, nonce)):
        raise Stranger("the other side does not have the secret of this spread")
    send(connection, _proof(key, b"lends", hello, nonce))
    return hello[len(begin) :].decode(errors="replace")


def read_request(connection: socket.socket) -> Request:
    return Request(*REQUEST.unpack(receive_bytes(connection, REQUEST.size)))


def read_reply(connection: socket.socket) -> Reply:
    return Reply(*REPLY.unpack(receive_bytes(connection, REPLY.size)))


def _counted(name: str) -> bytes:
    text = name.encode()[:NAME_LIMIT]
    return bytes([len(text)]) + text


def _proof(key: bytes, role: bytes, hello: bytes, nonce: bytes) -> bytes:
    return hmac.new(key, role + hello + nonce, hashlib.sha256).digest()
