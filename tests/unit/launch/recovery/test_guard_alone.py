"""A guard that is exchanged while its ranks go on: the real program, its files written by their own steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import CheckFailed
from inventory.secret import Secret
from launch.building.assemble import Assembly, assemble
from launch.catalogue.find import Catalogue
from launch.choosing.outline import launched
from launch.deploy import _changes
from launch.planned.api_key import ApiKey
from launch.recovery.guard import Supervision, guard_step, guard_steps
from launch.request import Request
from launch.running.supervise import preamble
from playbooks.layout import Layout
from playbooks.plan import Phase, Step
from tests.unit.launch.gangs import facts, hosts
from tests.unit.launch.recovery.test_guard import KEY, folder_of, free_port, gang, wanted
from tests.unit.playbooks.sh import sh

MODEL = "deepseek-v4-pro"
SUPERVISED = Supervision(ApiKey(Secret(KEY), "here"))


class Follower:
    """The host of the follower, whose guard answers and never acts by itself."""

    def __init__(self, root: Path, port: int) -> None:
        self.root, self.port = root, port
        self.layout = Layout(str(root / "tray2"))
        self.folder = folder_of((root, port), "tray2")
        self.folder.mkdir(parents=True)
        (self.folder.parent / "current").symlink_to("g1")

    def written(self, *alert: str) -> Step:
        """Write the files of such a guard; returns the step that exchanges it."""
        told = (wanted(*alert), gang(self.port), "tray2", self.layout, "root")
        for one in guard_steps(*told):
            assert sh(one.script).returncode == 0
        return guard_step(*told)

    @property
    def without(self) -> Step:
        return guard_step(None, gang(self.port), "tray2", self.layout, "root")

    def state(self, step: Step) -> str:
        return sh(step.probe).stdout.strip()

    def do(self, verb: str) -> str:
        return sh(f"{preamble(str(self.root / 'tray2'))}\n{verb}\n", timeout=60).stdout.strip()

    def made(self, step: Step) -> str:
        """Carry the step out as an apply does; returns the pid of the guard."""
        done = sh(f"set -eu\n{step.script}", timeout=60)
        assert done.returncode == 0, done.stderr
        assert self.state(step) == step.wanted
        return self.do("guard_process trial")


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Follower]:
    made = Follower(tmp_path, free_port())
    yield made
    made.do("stop_guard trial")


def test_only_a_guard_of_other_files_is_exchanged_and_what_it_remembers_stays(follower: Follower) -> None:
    first = follower.written("logger")
    assert follower.state(first) == "stopped"
    pid = follower.made(first)
    memory = follower.folder / "guard-memory"
    memory.write_text('{"restarts": [1.0], "locks": [], "begun": ""}')

    second = follower.written("mail", "ops")
    assert follower.state(second) == first.wanted, "it goes on as it was started"
    assert (follower.made(second) != pid, memory.exists()) == (True, True)
    assert (follower.folder / "guard.log").read_text().count("listening on") == 2


def test_a_guard_in_the_middle_of_a_recovery_is_not_touched(follower: Follower) -> None:
    first = follower.written("logger")
    follower.made(first)
    begun = {"restarts": [], "locks": [], "begun": 'no completion: "timed out"'}
    (follower.folder / "guard-memory").write_text(json.dumps(begun))
    assert follower.state(first) == first.wanted, "as it is wanted, it is in nobody's way"
    for other in (follower.written("mail"), follower.without):
        assert follower.state(other).startswith("refused guard-recovers no completion: ")
    follower.do("end_guard trial")
    assert follower.state(first) == "stopped", "one that is gone recovers nothing until it is started"


def test_a_guard_that_is_not_asked_for_any_more_goes_with_its_files(follower: Follower) -> None:
    follower.made(follower.written("logger"))
    assert follower.state(follower.without) == follower.written("logger").wanted
    assert follower.made(follower.without) == ""
    assert [path.name for path in follower.folder.iterdir()] == ["guard.log"]
    assert follower.state(follower.written()) == "stopped"


def test_files_of_a_generation_that_is_not_the_current_one_go_without_its_guard(follower: Follower) -> None:
    pid = follower.made(follower.written("logger"))
    stored = follower.folder.parent / "g2"
    stored.mkdir()
    (stored / "guard-run.sh").touch()
    other = replace(gang(follower.port), generation="g2")
    assert follower.made(guard_step(None, other, "tray2", follower.layout, "root")) == pid
    assert not list(stored.iterdir())


def test_a_guard_that_does_not_come_up_fails_the_change(follower: Follower) -> None:
    step = follower.written("logger")
    (follower.folder / "guard.py").write_text("raise SystemExit('no such address')\n")
    quick = step.script.replace("-le 100 ]", "-le 3 ]")
    done = sh(f"set -eu\n{quick}", timeout=60)
    assert done.returncode != 0
    assert "no such address" in done.stderr


def assembled(supervision: Supervision | None) -> Assembly:
    trays = hosts(2)
    seen = facts(trays, [4, 4], "NVIDIA GB200")
    one = launched(Catalogue.of().find(MODEL), Request(MODEL, supervision=supervision), trays, seen)
    return assemble(one.decision, one.name, one.choice.hosts, seen, one.engines)


def states(assembly: Assembly, ranks: str, **other: str) -> dict[str, dict[str, str]]:
    """Everything as wanted, but for the ranks and the steps that end in the words of `other`."""
    told: dict[str, dict[str, str]] = {}
    for host in assembly.gang.hosts:
        told[host] = {step.id: step.wanted for step in assembly.all_steps(host)}
        told[host][assembly.launch[host].start.id] = f"{assembly.gang.generation} {ranks}"
        for word, state in other.items():
            told[host] |= {name: state for name in told[host] if name.startswith(word) or name.endswith(f"/{word}")}
    return told


def test_a_guard_is_no_part_of_what_tells_generations_apart() -> None:
    other = replace(SUPERVISED, alert=("logger",), key=ApiKey(Secret(KEY[::-1]), "there"))
    made = [assembled(one) for one in (None, SUPERVISED, other)]
    assert len({one.gang.generation for one in made}) == 1
    assert [bool(one.gang.guard_port) for one in made] == [False, True, True]
    assert made[1].launch["tray1"].guard.wanted != made[2].launch["tray1"].guard.wanted


def test_beside_ranks_that_run_the_guard_alone_is_changed_and_shown() -> None:
    supervised = assembled(SUPERVISED)
    assert _changes(supervised, states(supervised, "running")) == ()
    changes = _changes(supervised, states(supervised, "running", guard="running 0123456789ab"))
    assert [(one.host, one.id, one.phase, one.action) for one in changes] == [
        (host, f"guard {MODEL}", Phase.STAGE, "update") for host in ("tray1", "tray2")
    ]
    new = _changes(supervised, states(supervised, "running", guard="absent"))
    assert new[-1].action == "create"
    assert {one.phase for one in new} == {Phase.STAGE}


def test_nothing_is_planned_over_a_recovery() -> None:
    supervised = assembled(SUPERVISED)
    with pytest.raises(CheckFailed) as caught:
        _changes(supervised, states(supervised, "running", guard="refused guard-recovers ranks are gone on tray2"))
    assert (caught.value.id, caught.value.observed) == ("guard-recovers", "ranks are gone on tray2")


def test_a_guard_starts_with_the_ranks_where_they_are_started() -> None:
    supervised = assembled(SUPERVISED)
    changes = _changes(supervised, states(supervised, "dead", guard="stopped"))
    assert {one.phase for one in changes} == {Phase.STOP, Phase.START}


@pytest.mark.parametrize("ranks", ["running", "dead"])
def test_without_supervise_a_guard_that_is_there_is_removed_and_else_nothing_is_planned(ranks: str) -> None:
    plain = assembled(None)
    (*_, change) = [
        one for one in _changes(plain, states(plain, ranks, guard="running 0123456789ab")) if "guard" in one.id
    ]
    assert (change.id, change.action, change.phase) == (f"guard {MODEL}", "delete", Phase.STAGE)
    assert not [one for one in _changes(plain, states(plain, ranks)) if "guard" in one.id]
