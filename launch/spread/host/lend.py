"""Giving pieces to whoever asks and has the secret: one thread for each connection, until it is closed."""

from __future__ import annotations

import os
import queue
import socket
import threading
import time

from launch.spread.host import wire
from launch.spread.host.copy import Copy, Folder
from launch.spread.host.pace import Pace
from launch.spread.host.tally import Tally
from launch.spread.host.wire import CANNOT, DATA, NOT_YET, SAME, Reply, Request

HEARTBEAT_S = 0.5
GREETING_S = 10.0
IDLE_S = 900.0
STUCK_S = 20.0
BACKLOG = 128


class Lender:
    """`doubts` gets the copies that others complain about."""

    def __init__(self, name: str, key: bytes, copies: list[Copy], folder: Folder, tally: Tally, pace: Pace) -> None:
        self.name, self.asked_at = name, time.monotonic()
        self.doubts: queue.Queue[Copy] = queue.Queue()
        self._key, self._copies, self._folder, self._tally, self._pace = key, copies, folder, tally, pace

    def listen(self, address: str) -> int:
        """Begin at `address`; returns the port. Raises `OSError` where this host does not have the address."""
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        door = socket.socket(kind, socket.SOCK_STREAM)
        door.bind((address, 0))
        door.listen(BACKLOG)
        threading.Thread(target=self._accept, args=(door,), daemon=True).start()
        return int(door.getsockname()[1])

    def _accept(self, door: socket.socket) -> None:
        while True:
            try:
                connection, _ = door.accept()
            except OSError:  # too many files are open, or who came has gone again
                time.sleep(0.1)
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                wire.timeouts(connection, GREETING_S, STUCK_S)
                peer = wire.welcome(connection, self._key)
                wire.timeouts(connection, IDLE_S, STUCK_S)
                while True:
                    self._answer(connection, peer, wire.read_request(connection))
            except (OSError, wire.Stranger):
                pass  # it comes again if it wants more; strangers do not

    def _answer(self, connection: socket.socket, peer: str, request: Request) -> None:
        self.asked_at = time.monotonic()
        if request.file >= len(self._copies):
            raise ConnectionError("no such file in this spread")
        copy = self._copies[request.file]
        if request.kind == wire.COMPLAIN:
            self.doubts.put(copy)
            return
        file, opened = -1, False
        try:
            for piece in range(request.first, min(request.first + request.most, copy.pieces)):
                known, total = self._await(connection, copy, piece)
                if not known:
                    return
                if piece < request.same_until:
                    wire.send(connection, Reply(SAME, piece, 0, total).pack())
                    continue
                if not opened:
                    file, opened = self._folder.reader(copy), True
                self._give(connection, peer, file, copy, Reply(DATA, piece, copy.span(piece)[1], total))
        finally:
            if opened:
                os.close(file)

    def _await(self, connection: socket.socket, copy: Copy, piece: int) -> tuple[bool, bytes]:
        """The sum up to the end of `piece`, as soon as it is known; until then signs of life go out."""
        while True:
            if copy.bad_here and not copy.sums:
                wire.send(connection, Reply(CANNOT, piece).pack())
                return False, b""
            total = copy.sum_of(piece, HEARTBEAT_S)
            if total is not None:
                return True, total
            wire.send(connection, Reply(NOT_YET, piece).pack())

    def _give(self, connection: socket.socket, peer: str, file: int, copy: Copy, reply: Reply) -> None:
        wire.send(connection, reply.pack())
        at, size = copy.span(reply.piece)
        end = at + size
        while at < end:
            part = min(self._pace.slice, end - at)
            self._pace.take(part)
            try:
                gone = os.sendfile(connection.fileno(), file, at, part)
            except BlockingIOError:
                raise TimeoutError("nothing was taken") from None
            if not gone:
                self.doubts.put(copy)
                raise ConnectionError("the file is shorter than it was")
            at += gone
            self._tally.went(peer, gone)
            self.asked_at = time.monotonic()
