"""Fetching one file: pieces in their order from one peer after another, each checked before the next counts."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import time
from typing import Any

from launch.spread.host import wire
from launch.spread.host.copy import Copy, Folder
from launch.spread.host.pace import Pace
from launch.spread.host.peers import Peer, Peers
from launch.spread.host.tally import Tally
from launch.spread.host.wire import CANNOT, DATA, NOT_YET, PIECE, SAME, Reply, Request

CONNECT_S = 2.0
DEAD_S = 3.0  # a peer that has nothing yet says so twice a second
STARVED_S = 8.0  # longer than it takes a peer to find that the one before it is dead
MISSES = 3
MOST_MISMATCHES = 10
AT_ONCE = 64  # pieces; then the nearest peer is asked again, whoever gave the last ones


class Trouble(Exception):
    """A peer that cannot go on with a file. `of_file`: with this one only."""

    def __init__(self, what: str, *, of_file: bool = False) -> None:
        super().__init__(what)
        self.of_file = of_file


class Touched(Exception):
    """Somebody else wrote to the file: what was known of it counts no more."""


class Line:
    """Connections of one lane: for each peer one for the run of pieces, and one for single ones beside it."""

    def __init__(self, me: str, address: str, key: bytes) -> None:
        self._me, self._address, self._key = me, address, key
        self._open: dict[tuple[Peer, bool], socket.socket] = {}

    def to(self, peer: Peer, *, beside: bool = False) -> socket.socket:
        known = self._open.get((peer, beside))
        if known is not None:
            return known
        try:
            connection = socket.create_connection((peer.address, peer.port), CONNECT_S, (self._address, 0))
        except OSError as error:
            raise Trouble(f"cannot be reached: {error}") from None
        connection.settimeout(None)
        try:
            wire.timeouts(connection, DEAD_S, DEAD_S)
            wire.greet(connection, self._me, self._key)
        except (OSError, wire.Stranger) as error:
            connection.close()
            raise Trouble(f"does not greet: {error}") from None
        self._open[peer, beside] = connection
        return connection

    def drop(self, peer: Peer) -> None:
        for beside in (False, True):
            connection = self._open.pop((peer, beside), None)
            if connection is not None:
                connection.close()

    def close(self) -> None:
        for peer, _ in list(self._open):
            self.drop(peer)


class Fetch:
    """One file being fetched by one lane. `buffer` holds a piece."""

    def __init__(self, copy: Copy, file: int, line: Line, peers: Peers, tally: Tally, pace: Pace) -> None:
        self._copy, self._file, self._line, self._peers, self._tally, self._pace = copy, file, line, peers, tally, pace
        self.stamp = Folder.stamp_of(file)  # after the last write of ours
        self._there = self.stamp.size  # what lies here from before, right or not
        self._buffer = memoryview(bytearray(PIECE))
        self._hash: Any = hashlib.sha256()
        self._misses = 0  # pieces in a row that lay here and were not right

    def run_from(self, peer: Peer) -> None:
        """Take what `peer` gives, until the file is whole or it is time to choose again. Raises `Trouble`."""
        copy, first = self._copy, len(self._copy.sums)
        until = min(copy.pieces, first + AT_ONCE)
        connection = self._line.to(peer)
        wire.send(connection, Request(wire.ASK, copy.index, first, until - first, self._whole_pieces_there()).pack())
        for piece in range(first, until):
            self._take(peer, connection, piece)
        self._peers.praise(peer)

    def _whole_pieces_there(self) -> int:
        """Pieces that lie here already and may be right."""
        return self._copy.pieces if self._there >= self._copy.size else self._there // PIECE

    def _take(self, peer: Peer, connection: socket.socket, piece: int) -> None:
        at, size = self._copy.span(piece)
        view = self._buffer[:size]
        reply = self._reply(peer, connection, piece)
        if reply.kind == SAME:
            here = os.preadv(self._file, [view], at) == size
            if here and self._matches(view, reply.sum):
                self._misses = 0
                self._tally.was_here(size)
                self._keep(peer, reply.sum)
                return
            self._missed(piece)
            self._single(piece, [peer, *self._peers.others(self._copy.index, peer)], peer)
        elif reply.kind == DATA and reply.length == size:
            self._receive(peer, connection, view)
            if self._matches(view, reply.sum):
                self._write(view, at)
                self._keep(peer, reply.sum)
                return
            self._accuse(peer, piece)
            self._single(piece, [*self._peers.others(self._copy.index, peer), peer], peer)
        else:
            raise Trouble(f"answered out of order: {reply.kind} for piece {reply.piece}")

    def _missed(self, piece: int) -> None:
        """What lies here is not what was to be: after a few of them the rest is not tried."""
        self._misses += 1
        if self._misses == MISSES:
            self._there = self._copy.span(piece)[0]

    def _reply(self, peer: Peer, connection: socket.socket, piece: int) -> Reply:
        hungry_since = None
        while True:
            reply = wire.read_reply(connection)
            if reply.piece != piece or reply.kind == CANNOT:
                raise Trouble("has a bad copy of this file itself", of_file=True)
            if reply.kind != NOT_YET:
                return reply
            now = time.monotonic()
            hungry_since = hungry_since or now
            nearer, _ = self._peers.choose(self._copy.index)
            if now - hungry_since > STARVED_S or nearer != peer:
                raise Trouble("has nothing more of this file", of_file=True)

    def _receive(self, peer: Peer, connection: socket.socket, view: memoryview) -> None:
        """One piece; what came of it counts as soon as it comes."""
        filled = 0
        while filled < len(view):
            part = min(self._pace.slice, len(view) - filled)
            self._pace.take(part)
            wire.receive(connection, view[filled : filled + part])
            filled += part
            self._tally.came(peer.name, part)

    def _matches(self, view: memoryview, total: bytes) -> bool:
        """Whether the file goes on with these bytes; if so, it does."""
        tried = self._hash.copy()
        tried.update(view)
        if tried.digest() != total:
            return False
        self._hash = tried
        return True

    def _write(self, view: memoryview, at: int) -> None:
        self.refuse_touched()
        while view:
            written = os.pwrite(self._file, view, at)
            view, at = view[written:], at + written
        self.stamp = Folder.stamp_of(self._file)

    def refuse_touched(self) -> None:
        if Folder.stamp_of(self._file) != self.stamp:
            raise Touched

    def _keep(self, peer: Peer, total: bytes) -> None:
        """The piece counts, unless it is the last and the whole is not the file that the manifest names."""
        copy = self._copy
        if len(copy.sums) + 1 == copy.pieces and total != copy.sha256:
            copy.forget()
            copy.mismatches += 1
            if copy.mismatches > MOST_MISMATCHES:
                often = f"{copy.path} came {copy.mismatches} times with another sum, from {peer.name} last"
                self._tally.fail("spread-bad-data", often)
            self._hash = hashlib.sha256()
            self._there = copy.size
            self._tally.gave_bad(peer.name, copy.path, -1)
            raise Trouble("gave a file that is not the one of the manifest", of_file=True)
        copy.add(total)

    def _single(self, piece: int, order: list[Peer], peer: Peer) -> None:
        """Fetch one piece by itself, from the first of `order` that has it, while the run of pieces of `peer` waits."""
        for other in order:
            try:
                if self._fetched(other, piece):
                    return
            except (OSError, Trouble):
                self._line.drop(other)
                if other == peer:
                    break
        raise Trouble(f"does not give piece {piece} of this file right, and nobody else has it", of_file=True)

    def _fetched(self, other: Peer, piece: int) -> bool:
        at, size = self._copy.span(piece)
        connection = self._line.to(other, beside=True)
        wire.send(connection, Request(wire.ASK, self._copy.index, piece, 1).pack())
        reply = wire.read_reply(connection)
        if reply.kind != DATA or reply.piece != piece or reply.length != size:
            raise Trouble("does not have the piece")
        view = self._buffer[:size]
        self._receive(other, connection, view)
        if not self._matches(view, reply.sum):
            self._accuse(other, piece)
            return False
        self._write(view, at)
        self._keep(other, reply.sum)
        return True

    def _accuse(self, peer: Peer, piece: int) -> None:
        """A piece that is not what its own sum says: it is told here, and to the peer, which reads its copy again."""
        self._tally.gave_bad(peer.name, self._copy.path, piece)
        with contextlib.suppress(OSError, Trouble):
            wire.send(self._line.to(peer, beside=True), Request(wire.COMPLAIN, self._copy.index).pack())
