"""Streams to files: every byte arrives, also what a shell would read otherwise; a host that stalls is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import BadInput, HostUnreachable
from inventory.transport.local import LocalTransport
from inventory.transport.replay import ReplayTransport

ODD = bytes(range(256)) * 300 + b"\nEND\n'$(touch /tmp/no)' \xff"


def test_pieces_are_added_in_order_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "it's here"
    path.write_bytes(b"first")
    LocalTransport("here").append(iter([ODD, b"", ODD]), str(path), deadline_s=30)
    assert path.read_bytes() == b"first" + ODD + ODD


def test_a_folder_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(HostUnreachable, match="connection was lost"):
        LocalTransport("here").append((bytes(65536) for _ in range(200)), f"{tmp_path}/no/file", deadline_s=30)


def test_a_stream_that_is_not_taken_ends_by_its_deadline(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "nobody reads")
    with pytest.raises(HostUnreachable) as caught:
        LocalTransport("here").append((bytes(65536) for _ in range(99)), f"{tmp_path}/nobody reads", deadline_s=1)
    assert caught.value.id == "connection-lost"


def test_saved_answers_take_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        ReplayTransport("saved", tmp_path).append([b"x"], "/x", deadline_s=1)
