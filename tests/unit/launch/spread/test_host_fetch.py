"""One host fetches from another inside this process, with pieces of 16 bytes."""

from __future__ import annotations

import errno
import os
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from launch.spread.host import fetch, lend, wire
from launch.spread.host.fetch import Fetch, Line, Touched, Trouble
from launch.spread.host.pace import Pace
from launch.spread.host.peers import Peer
from launch.spread.host.wire import Reply, Request
from tests.unit.launch.spread.inside import KEY, Inside, pieces_of
from tests.unit.launch.spread.swarm import fill, until

PIECE = 16
DATA = random.Random(3).randbytes(PIECE * 9 + 7)  # noqa: S311  (any bytes)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lend, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(fetch, "STARVED_S", 0.3)
    monkeypatch.setattr(fetch, "DEAD_S", 1.0)
    with pieces_of(PIECE):
        yield


def two(tmp_path: Path) -> tuple[Inside, Inside]:
    """A host that has a file and one that has not, which know of each other."""
    parcel = fill(tmp_path / "has" / "model", {"f": DATA})
    has, lacks = Inside.of("has", tmp_path, parcel, source=True), Inside.of("lacks", tmp_path, parcel)
    for one in (has, lacks):
        one.tell([has, lacks])
    return has, lacks


@contextmanager
def by_hand(one: Inside) -> Iterator[Fetch]:
    """The fetch of its file, which asks only whom the test says."""
    line = Line(one.name, "127.0.0.1", KEY)
    file = os.open(one.place / "model/f", os.O_RDWR | os.O_CREAT)
    try:
        yield Fetch(one.copies[0], file, line, one.peers, one.tally, Pace(None))
    finally:
        line.close()
        os.close(file)


def test_it_comes_whole_and_is_lent_on_by_its_sums(tmp_path: Path) -> None:
    has, lacks = two(tmp_path)
    has.complete()
    lacks.complete()
    assert (lacks.place / "model/f").read_bytes() == DATA
    assert lacks.copies[0].sums == has.copies[0].sums
    assert lacks.copies[0].sums[-1] == lacks.copies[0].sha256
    assert lacks.tally.received == {"has": len(DATA)}


def test_it_is_lent_while_it_is_still_read(tmp_path: Path) -> None:
    has, lacks = two(tmp_path)
    thread = threading.Thread(target=lacks.complete)
    thread.start()
    until(lambda: lacks.tally.trouble or lacks.lender.asked_at)
    has.complete()
    thread.join(20)
    assert (lacks.place / "model/f").read_bytes() == DATA


def test_who_has_nothing_yet_is_waited_for_and_then_left(tmp_path: Path) -> None:
    has, lacks = two(tmp_path)
    with by_hand(lacks) as one, pytest.raises(Trouble, match="nothing more") as told:
        one.run_from(has.peer)
    assert told.value.of_file


def test_a_file_that_somebody_else_writes_to_counts_no_more(tmp_path: Path) -> None:
    has, lacks = two(tmp_path)
    has.complete()
    with by_hand(lacks) as one:
        (lacks.place / "model/f").write_bytes(b"mine")
        with pytest.raises(Touched):
            one.run_from(has.peer)


def test_a_disk_that_is_full_is_no_trouble_of_the_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has, lacks = two(tmp_path)
    has.complete()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        lacks.complete()
    assert lacks.tally.trouble == {}
    assert lacks.peers.choose(0)[0] == has.peer


def test_a_bad_copy_of_its_own_is_said_to_who_asks(tmp_path: Path) -> None:
    has, lacks = two(tmp_path)
    has.copies[0].bad_here = True
    with has.connect() as connection:
        wire.send(connection, Request(wire.ASK, 0, 0, 5).pack())
        assert wire.read_reply(connection).kind == wire.CANNOT
    assert lacks.copies[0].sums == []


def test_a_complaint_makes_a_copy_doubted(tmp_path: Path) -> None:
    has, _ = two(tmp_path)
    has.complete()
    with has.connect() as connection:
        wire.send(connection, Request(wire.COMPLAIN, 0).pack())
        assert has.lender.doubts.get(timeout=5) is has.copies[0]
    has.keeper.again(has.copies[0])
    assert has.copies[0].doubted
    assert not has.copies[0].done


def test_a_file_that_is_not_in_the_spread_ends_the_connection(tmp_path: Path) -> None:
    has, _ = two(tmp_path)
    with has.connect() as connection:
        wire.send(connection, Request(wire.ASK, 99, 0, 1).pack())
        with pytest.raises(ConnectionError):
            wire.read_reply(connection)


def test_a_file_that_was_cut_short_is_doubted_and_not_padded(tmp_path: Path) -> None:
    has, lacks = two(tmp_path)
    has.complete()
    os.truncate(has.place / "model/f", PIECE * 2 + 3)
    with has.connect() as connection:
        wire.send(connection, Request(wire.ASK, 0, 0, 9).pack())
        for _ in range(2):
            wire.receive_bytes(connection, wire.read_reply(connection).length)
        wire.read_reply(connection)
        with pytest.raises(ConnectionError):
            wire.receive_bytes(connection, PIECE)
    assert has.lender.doubts.get(timeout=5) is has.copies[0]
    assert lacks.tally.received == {}


class Liar:
    """A peer that proves the secret and then says what it was told to, to every request."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.door = socket.create_server(("127.0.0.1", 0))
        self.peer = Peer("liar", "127.0.0.1", self.door.getsockname()[1])
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self._lie, args=(connection,), daemon=True).start()

    def _lie(self, connection: socket.socket) -> None:
        with connection:
            try:
                wire.welcome(connection, KEY)
                while True:
                    if wire.read_request(connection).kind == wire.ASK:
                        connection.sendall(self._answer)
            except (OSError, wire.Stranger):
                return


@pytest.mark.parametrize(
    "answer",
    [
        Reply(9, 0, 0).pack(),
        Reply(wire.DATA, 1, PIECE).pack(),
        Reply(wire.DATA, 0, 1 << 30).pack() + bytes(100),
        Reply(wire.DATA, 0, PIECE, b"s" * 32).pack() + bytes(PIECE),
        Reply(wire.SAME, 0, 0, b"s" * 32).pack(),
        b"\xff" * 64,
    ],
)
def test_whatever_a_peer_answers_only_right_bytes_count(tmp_path: Path, answer: bytes) -> None:
    has, lacks = two(tmp_path)
    has.complete()
    liar = Liar(answer)
    with by_hand(lacks) as one, pytest.raises((Trouble, OSError)):
        one.run_from(liar.peer)
    assert DATA.startswith((lacks.place / "model/f").read_bytes())
    lacks.complete()
    assert (lacks.place / "model/f").read_bytes() == DATA
    liar.door.close()


def test_a_whole_file_that_is_another_is_never_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All peers agree on sums that are not those of the manifest."""
    monkeypatch.setattr(fetch, "MOST_MISMATCHES", 1)
    has, lacks = two(tmp_path)
    other = bytearray(DATA)
    other[40] ^= 1
    (has.place / "model/f").write_bytes(other)
    has.copies[0].sha256 = lacks.copies[0].sha256
    has.copies[0].add(*has.keeper._sums(has.copies[0], early=False))
    with by_hand(lacks) as one:
        for _ in range(2):
            with pytest.raises(Trouble, match="not the one of the manifest"):
                one.run_from(has.peer)
            assert lacks.copies[0].sums == []
    assert lacks.tally.failed
    assert lacks.tally.failed["id"] == "spread-bad-data"
