"""Kinds about paths, on a real file system through the real apply: converges, second plan empty, drift refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from inventory.errors import BringupError, ChangeFailed
from inventory.fleet import Fleet
from inventory.schema import Host
from playbooks.apply import apply
from playbooks.phase_script import Event
from playbooks.plan import FORMAT_VERSION, Action, Change, Plan, Step
from tests.unit.playbooks.books.entries import HOSTILE, planned, states, step

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="entries of playbooks are root's business")

Make = Callable[[Path], Step]
KINDS: dict[str, Make] = {
    "directory": lambda base: step("directory", path=f"{base}/{HOSTILE}", mode="0750"),
    "file": lambda base: step("file", path=f"{base}/{HOSTILE}", content=f"{HOSTILE}\nEND\n$(id)", mode="0640"),
    "file-absent": lambda base: step("file", path=f"{base}/old {HOSTILE}", absent=True),
    "symlink": lambda base: step("symlink", path=f"{base}/{HOSTILE}", target=HOSTILE),
    "command-creates": lambda base: step("command", run=["touch", f"{base}/{HOSTILE}"], creates=f"{base}/{HOSTILE}"),
    "command-unless": lambda base: step(
        "command",
        run=["sh", "-c", 'printf %s "$V" >"$0"', f"{base}/{HOSTILE}"],
        unless=["test", "-s", f"{base}/{HOSTILE}"],
        env={"V": HOSTILE},
    ),
}


class Quiet:
    def event(self, change: Change, event: Event) -> None:
        pass

    def says(self, change: Change, line: str) -> None:
        pass


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / f"old {HOSTILE}").write_text("old")
    return folder


def carry_out(tmp_path: Path, *changes: Change) -> None:
    with Fleet([Host(name="h", transport="local", state_dir=f"{tmp_path}/state")]) as fleet:
        plan = Plan(FORMAT_VERSION, "d", "", "x", ("h",), (), changes)
        apply(plan, fleet, run="r", state_dirs=fleet.state_dirs, progress=Quiet())


def moved(base: Path) -> None:
    """Make every state in `base` another one than it was."""
    for path in base.iterdir():
        path.unlink()
    (base / HOSTILE).write_text("somebody was here")


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_planning_is_pure(make: Make, base: Path) -> None:
    assert make(base) == make(base)
    before = sorted(base.rglob("*"))
    planned(make(base))
    assert sorted(base.rglob("*")) == before


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_apply_converges_and_the_second_plan_is_empty(make: Make, base: Path, tmp_path: Path) -> None:
    (change,) = planned(make(base))
    carry_out(tmp_path, change)
    assert states(make(base))[change.id] == change.after
    assert planned(make(base)) == ()
    assert not Path("/root/id").exists()


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_drift_is_refused(make: Make, base: Path, tmp_path: Path) -> None:
    (change,) = planned(make(base))
    moved(base)
    with pytest.raises(ChangeFailed) as caught:
        carry_out(tmp_path, change)
    assert caught.value.id == "drift"
    assert (base / HOSTILE).read_text() == "somebody was here"


def test_owner_group_and_mode_are_part_of_the_state(base: Path, tmp_path: Path) -> None:
    def wanted(**fields: str) -> Step:
        return step("file", path=f"{base}/f", content="x", **fields)

    carry_out(tmp_path, *planned(wanted(owner="1234", group="daemon", mode="0600")))
    status = (base / "f").stat()
    assert (status.st_uid, oct(status.st_mode)[-3:]) == (1234, "600")
    assert planned(wanted(owner="1234", group="daemon", mode="0600")) == ()
    assert planned(wanted(mode="0600")), "root's by default"
    assert planned(wanted(owner="1234", group="daemon"))


def test_a_file_takes_no_place_of_a_folder(base: Path, tmp_path: Path) -> None:
    (base / "f").mkdir()
    (change,) = planned(step("file", path=f"{base}/f", content="x"))
    assert (change.before, change.action) == ("other", Action.UPDATE)
    with pytest.raises(ChangeFailed) as caught:
        carry_out(tmp_path, change)
    assert caught.value.id == "change-failed"
    assert (base / "f").is_dir()


def test_a_command_that_does_not_make_what_it_should_has_not_converged(base: Path, tmp_path: Path) -> None:
    (change,) = planned(step("command", run=["true"], creates=f"{base}/nothing"))
    assert change.action is Action.RUN
    with pytest.raises(BringupError) as caught:
        carry_out(tmp_path, change)
    assert caught.value.id == "not-converged"


def test_what_follows_a_change_is_looked_at_again_then(base: Path, tmp_path: Path) -> None:
    """Its state at planning means nothing once the change before it is done."""
    first = step("file", id="first", path=f"{base}/f", content="x")
    copied = step(
        "command", run=["cp", f"{base}/f", f"{base}/g"], unless=["cmp", f"{base}/f", f"{base}/g"], follows=["first"]
    )
    already = step("command", id="two", run=["false"], creates=f"{base}/f", follows=["first"])
    carry_out(tmp_path, *planned(first, copied, already))
    assert (base / "g").read_text() == "x"
    assert planned(first, copied, already) == ()
    other = step("file", id="first", path=f"{base}/f", content="y")
    changes = planned(other, copied, already)
    assert [one.id for one in changes] == ["book/first", "book/one", "book/two"]
    assert changes[1].depends_on == ("book/first",)
    carry_out(tmp_path / "again", *changes)
    assert (base / "g").read_text() == "y"
