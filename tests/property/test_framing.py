"""Framing: whatever a host says around and inside an answer, and however the network cuts it."""

from __future__ import annotations

import itertools
import re
import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.quoting import quote
from inventory.transport.framing import Unframer, frame

MARKER = "bringup-00112233445566778899aabbccddeeff"
BEGIN = f"\n{MARKER} begin timeout\n".encode()
END = f"\n{MARKER} end 0\n".encode()

# Pieces of the markers, so that near misses are common and not one in 2^128.
near_misses = st.builds(
    lambda line, start, stop: line[start : start + stop],
    st.sampled_from([BEGIN, END, BEGIN.replace(b"begin", b"end"), END.replace(b"0", b"1234")]),
    st.integers(0, len(BEGIN) - 1),
    st.integers(1, len(BEGIN)),
)
chatter = st.lists(st.binary(max_size=20) | near_misses, max_size=8).map(b"".join)
statuses = st.integers(0, 255)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """An answer with noise on both sides, and the chunks in which it comes."""
    end = f"\n{MARKER} end {draw(statuses)}\n".encode()
    data = draw(chatter) + BEGIN + draw(chatter) + end + draw(chatter)
    cuts = sorted({0, len(data), *draw(st.lists(st.integers(0, len(data)), max_size=12))})
    return data, [data[start:stop] for start, stop in itertools.pairwise(cuts)]


def expected(data: bytes) -> tuple[bytes, bytes, int | None, bytes]:
    """Noise before, body, status, noise after: by looking at the whole answer at once."""
    line = re.escape(MARKER.encode())
    begin = re.search(b"\n" + line + rb" begin(?: [a-z]*)?\n", data)
    assert begin
    rest = data[begin.end() :]
    end = re.search(b"\n" + line + rb" end(?: ([0-9]{0,3}))?\n", rest)
    assert end
    return data[: begin.start()], rest[: end.start()], int(end[1] or 0), rest[end.end() :]


@given(answers())
def test_any_chunks_give_what_the_whole_gives(answer: tuple[bytes, list[bytes]]) -> None:
    data, chunks = answer
    streamed: list[bytes] = []
    unframer = Unframer(MARKER, streamed.append)
    for chunk in chunks:
        unframer.feed(chunk)
    before, body, status, after = expected(data)
    assert (unframer.body, unframer.status, unframer.noise) == (body, status, before + after)
    assert b"".join(streamed) == body


@given(answers(), st.data())
def test_an_answer_that_is_cut_off_has_no_status_and_leaks_no_marker(
    answer: tuple[bytes, list[bytes]], data: st.DataObject
) -> None:
    whole, _ = answer
    before, body, _, _ = expected(whole)
    complete = whole.index(body, len(before)) + len(body) if body else len(before) + len(BEGIN)
    cut = data.draw(st.integers(0, complete))
    streamed: list[bytes] = []
    unframer = Unframer(MARKER, streamed.append)
    for position in range(cut):
        unframer.feed(whole[position : position + 1])
    assert unframer.status is None
    assert body.startswith(b"".join(streamed))


@given(st.binary(max_size=200))
def test_without_a_begin_all_is_noise(data: bytes) -> None:
    unframer = Unframer(MARKER)
    unframer.feed(data)
    unframer.feed(b"\n.")  # whatever was held back as a possible marker is none
    assert (unframer.begun, unframer.status, unframer.noise) == (False, None, data + b"\n.")


printable = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300)


@settings(max_examples=40, deadline=None)
@given(printable, statuses)
def test_a_real_shell_gives_back_any_text_and_status(text: str, status: int) -> None:
    script = f"printf %s {quote(text)}\nexit {status}"
    framed = frame(script, marker=MARKER, timeout=20)
    done = subprocess.run(["/bin/sh", "-s"], input=framed, capture_output=True, check=False)
    unframer = Unframer(MARKER)
    unframer.feed(done.stdout)
    assert (unframer.body, unframer.status) == (text.encode(), status)
