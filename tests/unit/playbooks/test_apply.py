"""Plans carried out on this machine through the local transport: barriers, drift, locks, audit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from inventory.errors import BringupError, ChangeFailed, Locked, Several
from inventory.fleet import Fleet
from inventory.schema import Host
from playbooks.apply import apply, finish_running_jobs
from playbooks.control import locked, this_run, unlock
from playbooks.phase_script import Event
from playbooks.plan import FORMAT_VERSION, Change, Phase, Plan, Step, changes_for
from playbooks.probes import probe_script, read_states
from playbooks.steps.file import file
from tests.unit.playbooks.sh import sh


@dataclass
class Notes:
    """What was told; the first line that a change says makes the file `heard`."""

    seen: list[tuple[str, str, Event]]
    lines: list[str]
    heard: Path | None = None

    def event(self, change: Change, event: Event) -> None:
        self.seen.append((change.host, change.phase, event))

    def says(self, change: Change, line: str) -> None:
        self.lines.append(f"{change.id}: {line}")
        if self.heard:
            self.heard.touch()


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Two hosts that are this machine, with state dirs of their own."""
    return Fleet([Host(name=n, transport="local", state_dir=f"{tmp_path}/{n}-state") for n in ("a", "b")])


def steps(host: str, tmp_path: Path) -> list[Step]:
    return [
        file(f"{tmp_path}/{host}-one", "1", mode="0644", why="test", phase=Phase.PROVISION),
        file(f"{tmp_path}/{host}-two", "2", mode="0644", why="test", phase=Phase.STAGE),
    ]


def plan(fleet: Fleet, tmp_path: Path) -> Plan:
    changes: list[Change] = []
    for host in fleet.hosts:
        wanted = steps(host, tmp_path)
        changes += changes_for(host, wanted, read_states(wanted, sh(probe_script(wanted)).stdout))
    return Plan(FORMAT_VERSION, "d", "g", "x", tuple(fleet.hosts), (), tuple(changes))


def carry_out(plan: Plan, fleet: Fleet, seen: list[tuple[str, str, Event]] | None = None) -> None:
    with fleet:
        apply(plan, fleet, run="r", state_dirs=fleet.state_dirs, progress=Notes([] if seen is None else seen, []))


def test_apply_converges_and_the_second_plan_is_empty(fleet: Fleet, tmp_path: Path) -> None:
    seen: list[tuple[str, str, Event]] = []
    carry_out(plan(fleet, tmp_path), fleet, seen)
    assert plan(fleet, tmp_path).empty
    order = [phase for _, phase, event in seen if event is Event.DONE]
    assert order == ["provision", "provision", "stage", "stage"], "phases are barriers"


def test_drift_is_refused_and_later_phases_do_not_begin(fleet: Fleet, tmp_path: Path) -> None:
    made = plan(fleet, tmp_path)
    (tmp_path / "a-one").write_text("somebody was here")
    with pytest.raises(ChangeFailed) as caught:
        carry_out(made, fleet)
    assert caught.value.id == "drift"
    assert caught.value.host == "a"
    assert (tmp_path / "a-one").read_text() == "somebody was here"
    assert (tmp_path / "b-one").exists(), "the other host ends the phase"
    assert not (tmp_path / "b-two").exists(), "and begins no other"


def test_a_failed_change_shows_its_last_output(fleet: Fleet, tmp_path: Path) -> None:
    step = Step("s", Phase.STAGE, "test", "echo absent", "there", "echo the disk is full >&2; exit 9", "do it")
    made = Plan(FORMAT_VERSION, "d", "g", "x", ("a", "b"), (), changes_for("a", [step], {"s": "absent"}))
    with pytest.raises(ChangeFailed, match="exit status 9") as caught:
        carry_out(made, fleet)
    assert "the disk is full" in caught.value.observed
    assert str(tmp_path) in caught.value.next_command


def test_a_long_change_is_heard(fleet: Fleet, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"printf 'begin\\r 40 %%\\r'; while [ ! -e {tmp_path}/heard ]; do sleep 0.1; done; touch {mark}"
    step = Step("s", Phase.STAGE, "test", f"[ -e {mark} ] && echo there || echo absent", "there", script, "do it")
    made = Plan(FORMAT_VERSION, "d", "g", "x", ("a",), (), changes_for("a", [step], {"s": "absent"}))
    notes = Notes([], [], tmp_path / "heard")
    with fleet:
        apply(made, fleet, run="r", state_dirs=fleet.state_dirs, progress=notes)
    assert notes.lines == ["s:  40 %"]


def test_a_second_run_is_told_who_holds_the_lock_and_takes_none(fleet: Fleet, tmp_path: Path) -> None:
    first, second = this_run("deploy one"), this_run("deploy two")
    with fleet, locked(fleet, ("b",), first, fleet.state_dirs):
        with pytest.raises(Locked) as caught, locked(fleet, ("a", "b"), second, fleet.state_dirs):
            raise AssertionError("not reached")
        assert caught.value.host == "b"
        assert "deploy one" in caught.value.observed
        assert first.user in caught.value.observed
        with locked(fleet, ("a",), second, fleet.state_dirs):
            pass
    audit = (tmp_path / "b-state" / "audit.log").read_text()
    assert audit.endswith(f"run {first.run} deploy one: done\n")
    assert not (tmp_path / "b-state" / "lock").exists()


def test_the_lock_of_a_dead_process_is_taken_over(fleet: Fleet) -> None:
    dead = this_run("deploy")
    gone = type(dead)(**{**{f: getattr(dead, f) for f in dead.__slots__}, "started": dead.started - 1000})
    with fleet:
        held = locked(fleet, ("a",), gone, fleet.state_dirs)
        held.__enter__()
        with locked(fleet, ("a",), this_run("again"), fleet.state_dirs):
            pass


def test_unlock_says_whose_it_was(fleet: Fleet) -> None:
    mine = this_run("deploy")
    with fleet:
        held = locked(fleet, ("a",), mine, fleet.state_dirs)
        held.__enter__()
        broken = unlock(fleet, fleet.state_dirs)
        assert broken == {"a": str(mine), "b": ""}
        with locked(fleet, ("a", "b"), this_run("next"), fleet.state_dirs):
            pass


def test_the_outcome_of_a_failed_run_is_in_the_audit_log(fleet: Fleet, tmp_path: Path) -> None:
    with fleet, pytest.raises(BringupError), locked(fleet, ("a",), this_run("deploy"), fleet.state_dirs):
        raise ChangeFailed("no", id="drift", host="a")
    assert (tmp_path / "a-state" / "audit.log").read_text().rstrip().endswith("deploy: drift")


def test_errors_of_several_hosts_come_together(fleet: Fleet, tmp_path: Path) -> None:
    made = plan(fleet, tmp_path)
    for host in "ab":
        (tmp_path / f"{host}-one").write_text("drift")
    with pytest.raises(Several) as caught:
        carry_out(made, fleet)
    assert {error.host for error in caught.value.errors} == {"a", "b"}


def test_nothing_to_finish_where_nothing_runs(fleet: Fleet) -> None:
    told: list[str] = []
    with fleet:
        fleet.each(lambda t: finish_running_jobs(t, state_dir=fleet.state_dirs[t.host], told=told.append))
    assert told == []
