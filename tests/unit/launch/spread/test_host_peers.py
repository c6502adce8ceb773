"""Whom a host asks, and whom it passes over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launch.spread.host import peers as module
from launch.spread.host.peers import Peer, Peers

RING = [["a", "10.0.0.1", 1], ["b", "10.0.0.2", 2], ["c", "10.0.0.3", 3], ["d", "10.0.0.4", 4]]


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    one = Clock()
    monkeypatch.setattr(module, "time", one)
    return one


def peers(tmp_path: Path, me: str) -> Peers:
    (tmp_path / "peers.json").write_text(json.dumps(RING))
    one = Peers(tmp_path / "peers.json", me)
    assert one.refresh()
    return one


@pytest.mark.parametrize(("me", "order"), [("a", "dcb"), ("b", "adc"), ("c", "bad"), ("d", "cba"), ("new", "dcba")])
def test_the_one_before_comes_first_and_then_around_the_ring(tmp_path: Path, me: str, order: str) -> None:
    assert "".join(one.name for one in peers(tmp_path, me).before_me()) == order


def test_without_a_ring_there_is_nobody(tmp_path: Path) -> None:
    one = Peers(tmp_path / "peers.json", "a")
    assert not one.refresh()
    assert one.choose(0)[0] is None
    (tmp_path / "peers.json").write_text("{")
    assert not one.refresh()


def test_who_failed_is_passed_over_for_longer_each_time(tmp_path: Path, clock: Clock) -> None:
    one = peers(tmp_path, "c")
    b = Peer("b", "10.0.0.2", 2)
    for seconds in (1, 2, 4, 8, 16, 20, 20):
        one.blame(b)
        clock.now += seconds - 0.5
        assert one.choose(0)[0] == Peer("a", "10.0.0.1", 1)
        clock.now += 1.0
        assert one.choose(0)[0] == b
    one.praise(b)
    one.blame(b)
    clock.now += 1.5
    assert one.choose(0)[0] == b


def test_one_file_of_a_peer_may_be_bad_and_the_others_good(tmp_path: Path, clock: Clock) -> None:
    one = peers(tmp_path, "c")
    one.blame(Peer("b", "10.0.0.2", 2), 7)
    chosen = [one.choose(file)[0] for file in (7, 8)]
    assert [each.name for each in chosen if each] == ["a", "b"]
    assert [each.name for each in one.others(7, Peer("a", "10.0.0.1", 1))] == ["d"]
    assert clock.now == 1000.0


def test_when_all_failed_it_says_how_long_to_wait(tmp_path: Path, clock: Clock) -> None:
    one = peers(tmp_path, "a")
    for each in one.before_me():
        one.blame(each)
    clock.now += 0.5
    peer, wait = one.choose(0)
    assert peer is None
    assert wait == pytest.approx(0.5)


def test_a_peer_that_was_started_again_begins_anew(tmp_path: Path, clock: Clock) -> None:
    one = peers(tmp_path, "b")
    one.blame(Peer("a", "10.0.0.1", 1))
    (tmp_path / "again").write_text(json.dumps([["a", "10.0.0.1", 99], *RING[1:]]))
    (tmp_path / "again").replace(tmp_path / "peers.json")
    one.refresh()
    assert one.choose(0)[0] == Peer("a", "10.0.0.1", 99)
    assert clock.now == 1000.0
