"""Which generation a rollback goes to, what it refuses, and how a host switches: the shell is a real one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.quoting import quote_all
from launch.running.history import SERVING, Entry, History
from launch.running.rollback import Stored, missing_script, offer, read_stored, stored_script, target
from launch.running.supervise import preamble
from tests.unit.launch.running.test_verdict import GANG
from tests.unit.playbooks.sh import sh

OLDER = replace(GANG, generation="g0")


def served(generation: str, outcome: str = SERVING) -> Entry:
    return Entry(
        f"2026-11-30T0{generation[1:]}:00:00Z", "ada@control", f"run{generation}", "deploy", generation, outcome
    )


def stored(*entries: Entry) -> dict[str, Stored]:
    return {"tray1": Stored((GANG, OLDER), History(entries))}


def test_it_goes_to_the_last_that_served_and_not_to_one_that_only_lies_there() -> None:
    assert target(GANG, stored(served("g0"), served("g1")), "") == OLDER
    assert offer(stored(served("g1")), besides="g1") is None
    with pytest.raises(BadInput) as caught:
        target(GANG, stored(served("g0", "never-ready"), served("g1")), "")
    assert caught.value.id == "generation-unknown"
    assert "g0" in caught.value.observed
    assert caught.value.next_command.endswith("--to g0")


def test_a_named_one_is_taken_whether_it_served_or_not() -> None:
    assert target(GANG, stored(), "g0") == OLDER


@pytest.mark.parametrize("wanted", ["g1", "g9"])
def test_the_current_and_an_unknown_one_are_refused(wanted: str) -> None:
    with pytest.raises(BadInput) as caught:
        target(GANG, stored(), wanted)
    assert caught.value.id == "generation-unknown"


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    for gang in (OLDER, GANG):
        folder = tmp_path / "deployments/trial" / gang.generation
        folder.mkdir(parents=True)
        (folder / "generation.json").write_text(gang.to_line("tray1"))
        (folder / "command.sh").write_text(
            f"exec env -i 'A=1' \\\n  {tmp_path}/envs/e1/bin/vllm serve {tmp_path}/weights/m/c\n"
        )
    (tmp_path / "deployments/trial/current").symlink_to("g1")
    (tmp_path / "deployments/trial/notes").write_text("somebody's")
    return tmp_path


def test_a_host_tells_what_it_has_the_current_one_first(state_dir: Path) -> None:
    (state_dir / "deployments/trial/broken").mkdir()
    (state_dir / "deployments/trial/broken/generation.json").write_text("{}\n")
    told = read_stored(sh(stored_script("trial", state_dir=str(state_dir))).stdout, "tray1")
    assert [one.generation for one in told.generations] == ["g1", "g0"]
    assert told.history.ground.kernel


def test_what_a_generation_lacks_is_named_before_anything_stops(state_dir: Path) -> None:
    gang = replace(OLDER, members=(replace(OLDER.members[0], python="/usr/bin/env"), *OLDER.members[1:]))

    def missing() -> list[str]:
        return sh(missing_script(gang, "tray1", state_dir=str(state_dir))).stdout.split()

    assert missing() == [f"{state_dir}/envs/e1/bin/vllm", f"{state_dir}/weights/m/c"]
    (state_dir / "envs/e1/bin").mkdir(parents=True)
    (state_dir / "envs/e1/bin/vllm").write_text("")
    (state_dir / "weights/m/c").mkdir(parents=True)
    assert missing() == []
    (state_dir / "deployments/trial/g0/command.sh").unlink()
    assert missing() == [f"{state_dir}/deployments/trial/g0/command.sh"]


def test_the_switch_is_by_rename_and_refuses_what_is_not_there(state_dir: Path) -> None:
    def switch(generation: str) -> int:
        words = quote_all(["trial", generation])
        return sh(f"{preamble(str(state_dir))}\nswitch_generation {words}\n").returncode

    assert switch("g0") == 0
    assert (state_dir / "deployments/trial/current").readlink() == Path("g0")
    assert switch("g7") == 1
    assert (state_dir / "deployments/trial/current").readlink() == Path("g0")
