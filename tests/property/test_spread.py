"""Spreads: whatever lies there before, however much of it is wrong, the file comes whole and little of it is sent."""

from __future__ import annotations

import itertools
import socket
import tempfile
import threading
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from launch.spread.host import wire
from launch.spread.host.fetch import MISSES
from launch.spread.host.wire import Reply, Request
from launch.spread.ring import ring_of
from tests.unit.launch.spread.inside import Inside, pieces_of
from tests.unit.launch.spread.swarm import fill

PIECE = 8
contents = st.binary(max_size=PIECE * 12)


@st.composite
def before_and_after(draw: st.DrawFn) -> tuple[bytes, bytes | None]:
    """A file as it shall be, and what lies in its place: nothing, something else, or itself with faults."""
    wanted = draw(contents)
    if draw(st.booleans()):
        return wanted, draw(st.none() | contents)
    there = bytearray(wanted[: draw(st.integers(0, len(wanted)))] if draw(st.booleans()) else wanted)
    for at in draw(st.lists(st.integers(0, max(0, len(there) - 1)), max_size=4)):
        if there:
            there[at] ^= draw(st.integers(1, 255))
    return wanted, bytes(there)


def pieces(data: bytes) -> list[bytes]:
    return [data[at : at + PIECE] for at in range(0, len(data), PIECE)]


def most_sent(wanted: bytes, there: bytes | None) -> int:
    """Pieces that are not right; all behind the third wrong one in a row, where no more is tried."""
    here = pieces((there or b"")[: len(wanted)])
    total, misses = 0, 0
    for right, lies in itertools.zip_longest(pieces(wanted), here):
        misses = 0 if right == lies else misses + 1
        total += len(right) if right != lies else 0
        if misses == MISSES:
            return len(wanted)
    return total


@settings(max_examples=60)
@given(before_and_after())
def test_the_file_comes_whole_and_only_wrong_pieces_are_sent(case: tuple[bytes, bytes | None]) -> None:
    wanted, there = case
    with tempfile.TemporaryDirectory() as folder, pieces_of(PIECE):
        root = Path(folder)
        parcel = fill(root / "has/model", {"f": wanted})
        has, lacks = Inside.of("has", root, parcel, source=True), Inside.of("lacks", root, parcel)
        if there is not None:
            (lacks.place / "model/f").write_bytes(there)
        lacks.tell([has, lacks])
        has.complete()
        lacks.complete()
        assert (lacks.place / "model/f").read_bytes() == wanted
        assert sum(lacks.tally.received.values()) <= most_sent(wanted, there)
        assert lacks.copies[0].done


@given(st.binary(max_size=400), st.lists(st.integers(1, 60), max_size=12))
def test_bytes_are_the_same_however_the_network_cuts_them(data: bytes, cuts: list[int]) -> None:
    one, other = socket.socketpair()

    def send() -> None:
        rest = data
        for cut in cuts:
            one.sendall(rest[:cut])
            rest = rest[cut:]
        one.sendall(rest)

    with one, other:
        thread = threading.Thread(target=send)
        thread.start()
        assert wire.receive_bytes(other, len(data)) == data
        thread.join()


numbers = st.integers(0, 2**32 - 1)


@given(st.builds(Request, st.integers(0, 255), numbers, numbers, numbers, numbers))
def test_a_request_is_read_as_it_was_written(request: Request) -> None:
    assert Request(*wire.REQUEST.unpack(request.pack())) == request


@given(st.builds(Reply, st.integers(0, 255), numbers, numbers, st.binary(min_size=32, max_size=32)))
def test_a_reply_is_read_as_it_was_written(reply: Reply) -> None:
    assert Reply(*wire.REPLY.unpack(reply.pack())) == reply


names = st.lists(st.integers(0, 40).map(str), unique=True, max_size=30)


@given(names, names)
def test_everybody_stands_in_the_ring_once_and_shares_differ_by_one_at_most(
    sources: list[str], targets: list[str]
) -> None:
    ring = ring_of(sources, targets)
    assert sorted(ring) == sorted({*sources, *targets})
    if sources:
        at = [ring.index(one) for one in sources] + [len(ring)]
        shares = [later - one - 1 for one, later in itertools.pairwise(at)]
        assert max(shares) - min(shares) <= 1
        assert at[0] == 0
