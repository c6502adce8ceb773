"""A whole spread, with real processes on loopback addresses: what is on the hosts at the end, and who sent what."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import HostUnreachable
from launch.spread import program as shipped
from launch.spread.outcome import Outcome
from launch.spread.parcel import MANIFEST
from launch.spread.spread import cancel, spread, status
from launch.spread.told import BadPiece, Told
from tests.unit.launch.spread.swarm import QUICK, Swarm, until

PIECE = 4 << 20
SLOW = replace(QUICK, rate_limit=6_000_000)


def run(swarm: Swarm, sources: str, targets: str) -> dict[str, Outcome]:
    with swarm.fleet() as fleet:
        return spread(fleet, swarm.delivery(sources, targets))


def in_background(swarm: Swarm, sources: str, targets: str, found: dict[str, Outcome]) -> threading.Thread:
    thread = threading.Thread(target=lambda: found.update(run(swarm, sources, targets)))
    thread.start()
    return thread


def overwrite(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        was = file.read(1)
        file.seek(at)
        file.write(bytes([was[0] ^ 1]))


def test_everybody_has_all_of_it_and_each_byte_is_sent_once_by_each(swarm: Swarm) -> None:
    heard: list[Mapping[str, Told]] = []
    with swarm.fleet() as fleet:
        outcomes = spread(fleet, swarm.delivery("a", "bcd"), report=heard.append)
    assert list(outcomes) == ["a", "b", "c", "d"]
    assert all(one.verified and one.error is None for one in outcomes.values())
    assert all(swarm.whole(name) for name in "abcd")
    size = swarm.parcel.size
    assert [one.received for one in outcomes.values()] == [{}, {"a": size}, {"b": size}, {"c": size}]
    assert [one.sent for one in outcomes.values()] == [{"b": size}, {"c": size}, {"d": size}, {}]
    assert heard
    assert all(swarm.pid(name) is None for name in "abcd"), "nobody lends any more"
    assert not Path(swarm.post("a").run).exists(), "nothing is left of it but the folder"


def test_a_host_that_joins_later_is_served_by_its_peers(swarm: Swarm) -> None:
    run(swarm, "a", "b")
    shutil.rmtree(swarm.folder("a"))
    outcomes = run(swarm, "b", "cd")
    assert all(one.verified for one in outcomes.values())
    assert swarm.whole("c")
    assert swarm.whole("d")


def test_sources_with_a_part_each_become_whole_too(swarm: Swarm) -> None:
    shutil.copytree(swarm.folder("a"), swarm.folder("b"))
    (swarm.folder("a") / "model-1.safetensors").unlink()
    for name in ("model-2.safetensors", "original/params.pth", "config.json"):
        (swarm.folder("b") / name).unlink()
    outcomes = run(swarm, "ab", "abcd")
    assert all(one.verified for one in outcomes.values())
    assert all(swarm.whole(name) for name in "abcd")
    assert sum(sum(one.sent.values()) for one in outcomes.values()) == 3 * swarm.parcel.size


def test_what_lies_there_is_kept_and_only_wrong_pieces_come(swarm: Swarm) -> None:
    shutil.copytree(swarm.folder("a"), swarm.folder("b"))
    big = swarm.folder("b") / "model-1.safetensors"
    overwrite(big, PIECE + 17)  # one piece of it
    os.truncate(swarm.folder("b") / "model-2.safetensors", 100)  # all of it: one piece
    (swarm.folder("b") / "config.json").write_text("version https://git-lfs.github.com/spec/v1\n")
    (swarm.folder("b") / "original/params.pth").write_bytes(b"x" * (5 << 20))  # another file of the same size
    outcome = run(swarm, "a", "b")["b"]
    assert swarm.whole("b")
    assert outcome.received == {"a": PIECE + PIECE + 2 + (5 << 20)}
    assert set(outcome.bad_here) <= {"model-1.safetensors", "original/params.pth"}


def test_a_link_or_folder_in_the_way_is_replaced_and_nothing_is_written_through_it(swarm: Swarm) -> None:
    elsewhere = swarm.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "params.pth").write_text("mine")
    swarm.folder("b").mkdir(parents=True)
    (swarm.folder("b") / "original").symlink_to(elsewhere)
    (swarm.folder("b") / "model-2.safetensors").symlink_to(elsewhere / "params.pth")
    assert run(swarm, "a", "b")["b"].verified
    assert swarm.whole("b")
    assert (elsewhere / "params.pth").read_text() == "mine"


def test_a_process_that_is_killed_is_started_again_and_goes_on(swarm: Swarm) -> None:
    swarm.settings = SLOW
    found: dict[str, Outcome] = {}
    thread = in_background(swarm, "a", "bcd", found)
    until((swarm.folder("c") / "model-1.safetensors").exists)
    swarm.kill("b")
    thread.join(60)
    assert all(found[name].verified and swarm.whole(name) for name in "abcd")


def test_interrupted_it_goes_on_by_itself_and_the_same_call_takes_it_over(swarm: Swarm) -> None:
    swarm.settings = SLOW

    def interrupt(_: Mapping[str, Told]) -> None:
        raise KeyboardInterrupt

    with swarm.fleet() as fleet, pytest.raises(KeyboardInterrupt):
        spread(fleet, swarm.delivery("a", "bc"), report=interrupt)
    assert all(swarm.pid(name) for name in "abc")
    with swarm.fleet() as fleet:
        told = status(fleet, swarm.delivery("a", "bc"))
    assert all(isinstance(one, Told) and one.alive for one in told.values())
    until(lambda: swarm.told("c").sealed)
    outcomes = run(swarm, "a", "bc")
    assert all(one.verified for one in outcomes.values())
    assert outcomes["c"].received == {}, "it was whole already"


def test_cancelled_nothing_runs_and_what_came_counts_later(swarm: Swarm) -> None:
    swarm.settings = replace(QUICK, rate_limit=1_500_000)
    delivery = swarm.delivery("a", "bc")

    def stop(told: Mapping[str, Told]) -> None:
        if told["c"].files >= 3:
            raise KeyboardInterrupt

    with swarm.fleet() as fleet:
        with pytest.raises(KeyboardInterrupt):
            spread(fleet, delivery, report=stop)
        cancel(fleet, delivery)
    assert not any(swarm.pid(name) for name in "abc")
    assert not (swarm.folder("c") / MANIFEST).exists()
    swarm.settings = QUICK
    found = run(swarm, "a", "bc")
    assert swarm.whole("c")
    assert sum(found["c"].received.values()) < swarm.parcel.size


def test_a_piece_that_a_peer_gives_wrong_is_named_and_fetched_again_alone(swarm: Swarm) -> None:
    run(swarm, "a", "b")
    first = swarm.folder("b") / "model-1.safetensors"
    before = first.stat()
    # `b` takes part as known good, by its notes, and its disk gives other bytes than it wrote.
    swarm.settings = SLOW
    found: dict[str, Outcome] = {}
    thread = in_background(swarm, "ab", "cd", found)
    until(lambda: swarm.pid("b") and swarm.told("b").sealed)
    overwrite(first, PIECE + 3)
    os.utime(first, ns=(before.st_atime_ns, before.st_mtime_ns))
    thread.join(60)
    assert all(swarm.whole(name) for name in "abcd")
    bad = [piece for one in found.values() for piece in one.bad]
    assert bad
    assert set(bad) == {BadPiece("b", "model-1.safetensors", 1)}


def test_without_a_good_source_nobody_has_a_manifest_and_the_source_is_named(swarm: Swarm) -> None:
    overwrite(swarm.folder("a") / "model-2.safetensors", 5)
    outcomes = run(swarm, "a", "bc")
    assert {one.error.id for one in outcomes.values() if one.error} == {"spread-starved"}
    assert outcomes["a"].bad_here == ("model-2.safetensors",)
    assert "model-2.safetensors" in str(outcomes["b"].error)
    assert not any((swarm.folder(name) / MANIFEST).exists() for name in "abc")


def test_a_bad_source_is_healed_by_a_good_one(swarm: Swarm) -> None:
    shutil.copytree(swarm.folder("a"), swarm.folder("d"))
    overwrite(swarm.folder("a") / "model-1.safetensors", 9 << 20)
    outcomes = run(swarm, "ad", "bc")
    assert all(one.verified for one in outcomes.values())
    assert all(swarm.whole(name) for name in "abcd")
    assert outcomes["a"].bad_here == ()


def test_the_rate_is_kept(swarm: Swarm) -> None:
    swarm.settings = replace(QUICK, rate_limit=8_000_000)
    began = time.monotonic()
    assert run(swarm, "a", "b")["b"].verified
    assert time.monotonic() - began > 0.8 * swarm.parcel.size / 8_000_000


def test_the_secret_is_for_the_user_alone_and_in_no_list_of_processes(swarm: Swarm) -> None:
    swarm.settings = SLOW
    thread = in_background(swarm, "a", "b", {})
    until(lambda: swarm.pid("b"))
    place = Path(swarm.post("b").run)
    secret = (place / "secret").read_text()
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    environment = Path(f"/proc/{swarm.pid('b')}/environ").read_text(errors="replace")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (place, place / "secret", place / "plan.json")]
    thread.join(60)
    assert len(secret) > 30
    assert secret not in listed
    assert secret not in environment
    assert modes == [0o700, 0o600, 0o600]


def test_a_folder_that_cannot_be_made_is_told(swarm: Swarm) -> None:
    (swarm.root / "b").mkdir(exist_ok=True)
    swarm.folder("b").write_text("a file")
    error = run(swarm, "a", "b")["b"].error
    assert error
    assert error.id == "spread-disk"


def test_an_address_of_another_host_is_told(swarm: Swarm) -> None:
    delivery = swarm.delivery("a", "b")
    with swarm.fleet() as fleet:
        outcomes = spread(fleet, replace(delivery, addresses={**delivery.addresses, "b": "192.0.2.1"}))
    assert outcomes["b"].error
    assert outcomes["b"].error.id == "spread-address"


def test_without_a_source_that_takes_part_everybody_is_told_why(swarm: Swarm) -> None:
    delivery = swarm.delivery("a", "bc")
    with swarm.fleet() as fleet:
        outcomes = spread(fleet, replace(delivery, addresses={**delivery.addresses, "a": "192.0.2.1"}))
    reasons = [one.error.id if one.error else "" for one in outcomes.values()]
    assert reasons == ["spread-address", "spread-starved", "spread-starved"]


def test_a_host_that_does_not_answer_is_given_up_when_the_others_are_done(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("launch.spread.spread.UNANSWERED_S", 0.5)
    monkeypatch.setattr("launch.spread.spread.RETRY_UNANSWERED_S", 0.2)
    fleet = swarm.fleet()
    each = fleet.each

    def deaf(function: Any, names: Sequence[str], **more: Any) -> dict[str, Any]:  # noqa: ANN401  (those of `each`)
        gone = HostUnreachable("gone", id="connection-lost", observed="no answer", host="c")
        answers = each(function, [name for name in names if name != "c"], **more)
        return answers | ({"c": gone} if "c" in names else {})

    monkeypatch.setattr(fleet, "each", deaf)
    with fleet:
        outcomes = spread(fleet, swarm.delivery("a", "bcd"))
    assert outcomes["b"].verified
    assert outcomes["d"].verified
    assert outcomes["c"].error
    assert outcomes["c"].error.id == "spread-unreachable"


def test_hosts_wait_for_the_one_that_answers_last(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ring is told when everybody has answered: until then nobody is out of patience."""
    swarm.settings = replace(swarm.settings, patience_s=1.0)
    fleet = swarm.fleet()
    each, asked = fleet.each, 0

    def slow(function: Any, names: Sequence[str], **more: Any) -> dict[str, Any]:  # noqa: ANN401  (those of `each`)
        nonlocal asked
        answers, asked = each(function, names, **more), asked + 1
        time.sleep(2.5 if asked == 1 else 0)
        return answers

    monkeypatch.setattr(fleet, "each", slow)
    with fleet:
        outcomes = spread(fleet, swarm.delivery("a", "bc"))
    assert all(one.verified for one in outcomes.values()), [one.error for one in outcomes.values()]


def _runs(program: str) -> bool:
    return (
        bool(shutil.which(program))
        and subprocess.run([program, "-c", ""], check=False, capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not _runs("python3.8"), reason="no Python 3.8 here")
def test_the_oldest_python_runs_the_program(tmp_path: Path) -> None:
    (tmp_path / "spread.pyz").write_bytes(shipped.program())
    argv = ["python3.8", "-W", "error", str(tmp_path / "spread.pyz"), str(tmp_path / "none")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "FileNotFoundError" in done.stderr.splitlines()[-1]
