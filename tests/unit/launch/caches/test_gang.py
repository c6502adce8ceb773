"""A cache that broke a start is put aside on all hosts, once; real shells on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.errors import ChangeFailed, NotServing
from inventory.fleet import Fleet
from inventory.schema import Host
from launch.building.generation import Generation, Member
from launch.caches.gang import poisoned, second_chance
from launch.console.report import Report

STAMP = "0123456789ab"
POISON = "RuntimeError: Bytes object is corrupted, checksum does not match. Expected: 0x1"
NEVER = NotServing("never ready", id="never-ready", observed="o", required="r", next_command="n")
GANG = Generation(
    *("trial", "g1", "r", "v", "s", "0.33.0", "trial", "hybrid", "Hi.", 4, ()),
    tuple(Member(host, "", index, 1, "/usr/bin/python3", "process-group") for index, host in enumerate("ab")),
)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet([Host(name=n, transport="local", state_dir=f"{tmp_path}/{n}") for n in "ab"]) as fleet:
        for state_dir in fleet.state_dirs.values():
            generation = Path(state_dir) / "deployments/trial/g1"
            generation.mkdir(parents=True)
            (generation / "command.sh").write_text(f"VLLM_CACHE_ROOT={state_dir}/caches/{STAMP}/vllm\n")
            (generation / "log").write_text("INFO starting\n")
            (generation.parent / "current").symlink_to("g1")
            kernel = Path(state_dir) / "caches" / STAMP / "triton/k"
            kernel.parent.mkdir(parents=True)
            kernel.write_text("compiled")
        yield fleet


def log(fleet: Fleet, host: str, text: str) -> None:
    (Path(fleet.state_dirs[host]) / "deployments/trial/g1/log").write_text(text)


def kernels(fleet: Fleet) -> list[bool]:
    return [(Path(state_dir) / "caches" / STAMP / "triton/k").exists() for state_dir in fleet.state_dirs.values()]


def test_one_hosts_poison_puts_the_caches_of_all_aside_and_only_once(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    log(fleet, "b", f"INFO\n{POISON}\n")
    assert second_chance(fleet, GANG, Report(), NEVER)
    assert kernels(fleet) == [False, False]
    said = capsys.readouterr().err
    assert "b: its log blames what it found in its caches: RuntimeError: Bytes object is corrupted" in said
    assert said.count("caches are out of the way: aside") == 2
    assert not second_chance(fleet, GANG, Report(), NEVER), "it was not the cache then"
    assert "nothing more is tried" in capsys.readouterr().err


def test_another_failure_leaves_them(fleet: Fleet) -> None:
    assert not second_chance(fleet, GANG, Report(), NEVER)
    log(fleet, "a", POISON)
    changed = ChangeFailed("m", id="start-failed", observed="o", required="r", next_command="n")
    assert not second_chance(fleet, GANG, Report(), changed)
    assert kernels(fleet) == [True, True]


def test_a_host_that_put_its_own_aside_before_keeps_all_others_theirs(fleet: Fleet) -> None:
    (Path(fleet.state_dirs["a"]) / "caches/.poisoned" / STAMP).mkdir(parents=True)
    log(fleet, "b", POISON)
    found = poisoned(fleet, GANG)
    assert found is not None
    assert found.host == "b"
    assert not second_chance(fleet, GANG, Report(), NEVER)
    assert kernels(fleet) == [True, True], "on all hosts or on none"
