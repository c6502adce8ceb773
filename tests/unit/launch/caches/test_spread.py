"""Caches from host to host: real shells, programs and servers, all on this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from inventory.errors import ChangeFailed
from inventory.fleet import Fleet
from inventory.schema import Host
from launch.caches import gang
from launch.caches.merge import CacheFile, CacheSet, Rank, lacking
from launch.caches.scripts import Place
from launch.caches.spread import spread
from launch.console.report import Report
from launch.running.supervise import preamble
from tests.unit.playbooks.sh import sh

STAMP = "0123456789ab"
AOT = "vllm/torch_compile_cache/torch_aot_compile/ab12"
NAME = "trial"
AT = 1_700_000_000_123_456_789
OWNERS = {(0, 0): "a", (0, 1): "b", (0, 2): "c"}


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet([Host(name=n, transport="local", state_dir=f"{tmp_path}/{n}-state") for n in "abc"]) as fleet:
        yield fleet


def folder(fleet: Fleet, host: str) -> Path:
    return Path(fleet.state_dirs[host]) / "caches" / STAMP


def places(fleet: Fleet, *, address: str = "127.0.0.1") -> list[Place]:
    return [Place(host, str(folder(fleet, host)), sys.executable, address) for host in fleet.hosts]


def compiled(fleet: Fleet, host: str, rank: int, content: bytes = b"") -> None:
    put(fleet, host, f"{AOT}/rank_0_{rank}/model", content or os.urandom(3000))
    put(fleet, host, f"triton/{host}/kernel.cubin", os.urandom(10))
    put(fleet, host, "triton/shared/kernel.cubin", host.encode())


def put(fleet: Fleet, host: str, path: str, content: bytes) -> Path:
    file = folder(fleet, host) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def deployed(fleet: Fleet, host: str) -> None:
    """A generation whose command names the caches, as a deploy writes it."""
    generation = Path(fleet.state_dirs[host]) / "deployments" / NAME / "g1"
    generation.mkdir(parents=True, exist_ok=True)
    (generation / "command.sh").write_text(f"exec env -i VLLM_CACHE_ROOT={folder(fleet, host)}/vllm true\n")
    (generation.parent / "current").unlink(missing_ok=True)
    (generation.parent / "current").symlink_to("g1")


def on(fleet: Fleet, host: str, command: str) -> str:
    done = sh(f"{preamble(fleet.state_dirs[host])}\n{command}\n")
    assert done.returncode == 0, done.stderr
    return done.stdout


def passing(fleet: Fleet) -> None:
    """What is of one process, unfinished, or of one GPU's memory."""
    put(fleet, "a", "triton/PASSES/tmp.pid_1/half.cubin", b"x")
    put(fleet, "a", f"{AOT}/rank_0_0/PASSES.17.tmp", b"x")
    put(fleet, "a", "triton/PASSES.lock", b"")
    put(fleet, "a", "vllm/startup_plan/PASSES.json", b"{}")
    (folder(fleet, "a") / "triton/PASSES-link").symlink_to("/etc/hostname")


def started(fleet: Fleet) -> None:
    for host in fleet.hosts:
        deployed(fleet, host)
        on(fleet, host, f"take_caches {NAME}")


def put_aside(fleet: Fleet, host: str) -> Path:
    """What a spread leaves for the next start."""
    staged = folder(fleet, host).parent / ".staged" / STAMP
    (staged / "files" / AOT / "rank_0_1").mkdir(parents=True)
    (staged / "files" / AOT / "rank_0_1/model").write_bytes(b"whole")
    (staged / "set.json").write_text("{}")
    return staged


def files(fleet: Fleet, host: str) -> dict[str, bytes]:
    root = folder(fleet, host)
    found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return {path: data for path, data in found.items() if not path.startswith(".bringup")}


def leftovers(fleet: Fleet) -> list[str]:
    kept = {STAMP, ".staged"}
    return [str(one) for host in fleet.hosts for one in folder(fleet, host).parent.iterdir() if one.name not in kept]


@pytest.fixture
def three(fleet: Fleet) -> Fleet:
    for rank, host in enumerate(fleet.hosts):
        compiled(fleet, host, rank)
    return fleet


def test_all_ranks_files_are_on_all_hosts_at_their_next_start_and_not_before(three: Fleet) -> None:
    ninja = put(three, "a", ".cache/flashinfer/0.7.2/100a/cached_ops/x/build.ninja", b"rule")
    os.utime(ninja, ns=(AT, AT))
    passing(three)
    own = {host: files(three, host) for host in three.hosts}
    told = spread(three, places(three), OWNERS)
    assert set(told.given) == {"a", "b", "c"}
    assert told.sentences[0].startswith("caches of all ranks (8 files, ")
    assert "ready for the next start; given: a " in told.sentences[0]
    assert {host: files(three, host) for host in three.hosts} == own, "ranks that run see nothing of it"
    assert leftovers(three) == [], "neither shares nor secrets are left"
    started(three)
    after = {host: files(three, host) for host in three.hosts}
    for rank, host in enumerate("abc"):
        mine = {path: data for path, data in own[host].items() if "shared" not in path and "PASSES" not in path}
        assert all(mine.items() <= after[other].items() for other in "abc"), f"rank {rank}"
        assert after[host]["triton/shared/kernel.cubin"] == host.encode(), "its own kernel is as good"
    assert not [path for path in after["c"] if "PASSES" in path], "locks, halves, links and plans of one GPU"
    assert (folder(three, "c") / ninja.relative_to(folder(three, "a"))).stat().st_mtime_ns == AT, "ninja compares them"
    assert json.loads((folder(three, "b") / ".bringup-set.json").read_text())["ranks"] == [[0, 0], [0, 1], [0, 2]]
    again = spread(three, places(three), OWNERS)
    assert (again.given, again.wanted.digest) == ({}, told.wanted.digest)
    assert again.sentences[0].startswith("every host has the caches of all ranks: 8 files")


def test_a_host_that_comes_later_is_given_everything_by_one(fleet: Fleet) -> None:
    for rank in range(3):
        compiled(fleet, "a", rank)
    told = spread(fleet, places(fleet), {(0, 0): "a", (0, 1): "a", (0, 2): "a"})
    assert set(told.given) == {"b", "c"}
    started(fleet)
    assert files(fleet, "a") == files(fleet, "b") == files(fleet, "c")


def test_uneven_folders_stay_and_are_told(three: Fleet) -> None:
    (folder(three, "b") / AOT / "rank_0_1/model").unlink()
    told = spread(three, places(three), OWNERS)
    assert told.wanted.uneven == ((AOT, ((0, 1),)),)
    assert "1 rank(s) have nothing in it (rank 0 of 1)" in told.sentences[-1]
    started(three)
    assert f"{AOT}/rank_0_0/model" not in files(three, "b")


@pytest.mark.parametrize("fault", ["address", "space", "listing"])
def test_what_fails_leaves_every_host_as_it_was(three: Fleet, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {host: files(three, host) for host in three.hosts}
    where = places(three, address="192.0.2.1" if fault == "address" else "127.0.0.1")
    if fault == "space":
        monkeypatch.setattr("launch.caches.scripts.SPARE_BYTES", 1 << 60)
    if fault == "listing":
        where[1] = Place("b", where[1].folder, "/no/python", "127.0.0.1")
    with pytest.raises(ChangeFailed) as caught:
        spread(three, where, OWNERS)
    assert caught.value.id == "caches-not-spread"
    assert "serve all the same" in caught.value.message
    started(three)
    assert {host: files(three, host) for host in three.hosts} == own
    assert leftovers(three) == []


def test_a_file_that_changes_on_its_way_is_nowhere(three: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is rewritten between its listing and its packing."""

    def late(
        wanted: CacheSet, host: str, there: Sequence[CacheFile], owners: Mapping[Rank, str]
    ) -> Sequence[CacheFile]:
        put(three, "a", f"{AOT}/rank_0_0/model", b"another")
        return lacking(wanted, host, there, owners)

    monkeypatch.setattr("launch.caches.spread.lacking", late)
    with pytest.raises(ChangeFailed, match="caches cannot be given"):
        spread(three, places(three), OWNERS)
    started(three)
    assert f"{AOT}/rank_0_0/model" not in files(three, "b")


def test_nothing_compiled_is_told(fleet: Fleet) -> None:
    told = spread(fleet, places(fleet), OWNERS)
    assert told.sentences == ("nothing was compiled that another start could use",)


def test_a_half_taken_set_is_finished_by_the_next_start(three: Fleet) -> None:
    staged = put_aside(three, "a")
    deployed(three, "a")
    (folder(three, "a") / AOT / "rank_0_1").mkdir()
    (folder(three, "a") / AOT / "rank_0_1/model").write_bytes(b"half")
    on(three, "a", f"take_caches {NAME}")
    assert not staged.exists()
    assert files(three, "a")[f"{AOT}/rank_0_1/model"] == b"whole"


def test_a_poisoned_folder_is_put_aside_once_until_a_start_is_good(three: Fleet) -> None:
    deployed(three, "a")
    (folder(three, "a") / ".bringup-stamp.json").write_text("{}")
    aside = folder(three, "a").parent / ".poisoned" / STAMP
    assert on(three, "a", f"aside_is_free {NAME}") == "free\n"
    assert on(three, "a", f"set_caches_aside {NAME}") == f"aside {aside}\n"
    assert files(three, "a") == {}
    assert (folder(three, "a") / ".bringup-stamp.json").exists(), "the folder is still this build's"
    assert on(three, "a", f"set_caches_aside {NAME}") == f"again {aside}\n"
    on(three, "a", f"caches_are_good {NAME}")
    assert not aside.exists()


def test_caches_that_another_deployment_uses_are_left_alone(three: Fleet) -> None:
    deployed(three, "a")
    other = Path(three.state_dirs["a"]) / "deployments/other/g9"
    other.mkdir(parents=True)
    (other / "command.sh").write_text(f"VLLM_CACHE_ROOT={folder(three, 'a')}/vllm\n")
    (other.parent / "current").symlink_to("g9")
    started_at = sh(f"sed 's/.*) //' /proc/{os.getpid()}/stat | cut -d ' ' -f 20").stdout.strip()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (other / "record").write_text(f"{os.getpid()} {started_at} {boot}\n")
    assert on(three, "a", f"set_caches_aside {NAME}") == f"used {folder(three, 'a')}\n"
    put_aside(three, "a")
    on(three, "a", f"take_caches {NAME}")
    assert f"{AOT}/rank_0_1/model" not in files(three, "a"), "they run: nothing is put below them"
    (other / "record").unlink()
    on(three, "a", f"take_caches {NAME}")
    assert f"{AOT}/rank_0_1/model" in files(three, "a")


def test_a_host_that_is_new_to_the_gang_is_warm_at_its_first_start(three: Fleet) -> None:
    """Two hosts have the whole set of an earlier start; the third, which now has a rank of it, has nothing."""
    for host in "ab":
        for rank in range(3):
            put(three, host, f"{AOT}/rank_0_{rank}/model", b"rank %d" % rank)
    for path in files(three, "c"):
        (folder(three, "c") / path).unlink()
    told = spread(three, places(three), OWNERS)
    assert "c" in told.given
    started(three)
    assert files(three, "c")[f"{AOT}/rank_0_2/model"] == b"rank 2"


@pytest.mark.parametrize("known", ["", "ab", "abc"])
def test_caches_are_brought_before_a_start_only_where_some_hosts_lack_a_set(
    three: Fleet, known: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in known:
        put(three, host, ".bringup-set.json", b"{}")
    monkeypatch.setattr(gang, "places_of", lambda *_: {STAMP: places(three)})
    monkeypatch.setattr(gang, "owners", lambda *_: OWNERS)
    gang.bring(three, cast("Any", None), Report())
    said = capsys.readouterr().err
    assert ("are ready for the next start" in said) == (known == "ab")
