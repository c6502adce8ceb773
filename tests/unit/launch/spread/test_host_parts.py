"""The small parts of the program: files and their notes, the pace, the tally."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from launch.spread.host import journal
from launch.spread.host.copy import Copy, Folder
from launch.spread.host.journal import Journal
from launch.spread.host.pace import Pace
from launch.spread.host.tally import MOST_BAD, Tally
from tests.unit.launch.spread.inside import Inside, pieces_of
from tests.unit.launch.spread.swarm import fill


def done(tmp_path: Path) -> tuple[Inside, Copy]:
    """A host that has read its one file."""
    one = Inside.of("a", tmp_path, fill(tmp_path / "a" / "model", {"f": b"x" * 100}), source=True)
    one.complete()
    return one, one.copies[0]


def again(one: Inside) -> tuple[bool, Copy]:
    """What a process that is started again knows of the file."""
    old = one.copies[0]
    copy = Copy(0, "f", old.size, old.sha256.hex())
    known = Journal(one.place / "notes").recall(copy, Folder(str(one.place / "model")))
    return known, copy


def test_a_note_saves_the_reading(tmp_path: Path) -> None:
    with pieces_of(16):
        one, copy = done(tmp_path)
        known, told = again(one)
        assert known
        assert told.sums == copy.sums


def test_a_note_does_not_count_for_a_file_that_was_touched(tmp_path: Path) -> None:
    with pieces_of(16):
        one, _ = done(tmp_path)
        os.utime(one.place / "model/f", ns=(1, 1))
        assert not again(one)[0]


def test_a_note_does_not_count_after_a_restart_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pieces_of(16):
        one, _ = done(tmp_path)
        monkeypatch.setattr(journal, "boot_id", lambda: "another")
        assert not again(one)[0]


@pytest.mark.parametrize("spoil", ["", "[]", "{", '{"boot": 1}', "sums", "short"])
def test_a_spoiled_note_is_none(tmp_path: Path, spoil: str) -> None:
    with pieces_of(16):
        one, copy = done(tmp_path)
        note = one.place / "notes" / "0"
        told = json.loads(note.read_text())
        if spoil == "sums":
            spoil = json.dumps({**told, "sums": ("00" * 32) * copy.pieces})
        elif spoil == "short":
            spoil = json.dumps({**told, "sums": copy.sha256.hex()})
        note.write_text(spoil)
        assert not again(one)[0]


def test_what_was_touched_after_it_had_its_sum_is_found(tmp_path: Path) -> None:
    one, copy = done(tmp_path)
    assert one.keeper.touched() == []
    (one.place / "model/f").write_bytes(b"y" * 100)
    assert one.keeper.touched() == [copy]
    (one.place / "model/f").unlink()
    assert one.keeper.touched() == [copy]


def test_the_manifest_is_written_once_and_taken_away_on_doubt(tmp_path: Path) -> None:
    one, _ = done(tmp_path)
    manifest = one.place / "model/.manifest"
    one.keeper.seal(".manifest", "told")
    first = manifest.stat()
    one.keeper.seal(".manifest", "told")
    assert manifest.read_text() == "told"
    assert manifest.stat().st_ino == first.st_ino, "what is right already is left alone"
    one.keeper.unseal(".manifest")
    one.keeper.unseal(".manifest")
    assert not manifest.exists()


def test_an_empty_file_is_made(tmp_path: Path) -> None:
    one = Inside.of("a", tmp_path, fill(tmp_path / "other", {"sub/empty": b""}))
    one.complete()
    assert (one.place / "model/sub/empty").read_bytes() == b""


@pytest.mark.parametrize(("rate", "size"), [(None, 4 << 20), (100, 16 << 10), (1e6, 100_000), (1e12, 1 << 20)])
def test_a_slower_pace_has_smaller_slices(rate: float | None, size: int) -> None:
    assert Pace(rate).slice == size


def test_a_pace_is_kept_over_all_that_take() -> None:
    pace, began = Pace(1e6), time.monotonic()
    for _ in range(5):
        pace.take(50_000)
    assert 0.19 < time.monotonic() - began < 2


def test_the_first_reason_counts_and_bad_pieces_do_not_pile_up() -> None:
    tally = Tally()
    tally.fail("spread-space", "full")
    tally.fail("spread-disk", "later")
    for piece in range(MOST_BAD * 2):
        tally.gave_bad("b", "f", piece)
    told = tally.told()
    assert told["failed"] == {"id": "spread-space", "observed": "full"}
    assert len(told["bad"]) == MOST_BAD
