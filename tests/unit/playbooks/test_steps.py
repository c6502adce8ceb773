"""Every kind of step on a real file system: planned, applied by its script, read back, second plan empty."""

from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import CheckFailed
from playbooks.plan import ABSENT, Action, Phase, Step, changes_for
from playbooks.probes import probe_script, read_states
from playbooks.steps.directory import directory
from playbooks.steps.file import file
from playbooks.steps.symlink import symlink
from tests.unit.playbooks.sh import sh

HOSTILE = "a b'c\"d$HOME`id`;é\\n*"


def states(*steps: Step) -> dict[str, str]:
    return read_states(steps, sh(probe_script(steps)).stdout)


def kinds(base: Path) -> list[Step]:
    return [
        directory(f"{base}/{HOSTILE}/folder", mode="0750", why="test"),
        file(
            f"{base}/{HOSTILE}/file",
            f"{HOSTILE}\n$(id)\nEND\n",
            mode="0640",
            why="test",
            phase=Phase.PROVISION,
        ),
        symlink(f"{base}/link", HOSTILE, why="test", phase=Phase.STAGE),
    ]


@pytest.mark.parametrize("index", range(3))
def test_absent_is_created_and_the_second_plan_is_empty(tmp_path: Path, index: int) -> None:
    step = kinds(tmp_path)[index]
    assert states(step) == {step.id: ABSENT}
    (change,) = changes_for("h", [step], states(step))
    assert change.action is Action.CREATE
    done = sh(f"set -eu\n{change.script}")
    assert done.returncode == 0, done.stderr
    assert states(step) == {step.id: change.after}
    assert changes_for("h", [step], states(step)) == ()


def test_file_content_and_mode_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "x"
    content = "é\n'\"$\\\n\nno newline at the end"
    step = file(str(path), content, mode="0600", why="test", phase=Phase.STAGE)
    sh(f"set -eu\n{step.script}")
    assert path.read_text() == content
    assert path.stat().st_mode & 0o7777 == 0o600
    path.chmod(0o644)
    assert states(step)[step.id] != step.wanted, "a changed mode is a change"


def test_a_file_where_a_link_is_wanted_is_not_taken_for_it(tmp_path: Path) -> None:
    step = symlink(f"{tmp_path}/link", "target", why="test", phase=Phase.STAGE)
    (tmp_path / "link").write_text("I am a file")
    assert states(step) == {step.id: "other"}


def test_a_probe_that_fails_is_unreadable_and_refused() -> None:
    step = Step("s", Phase.STAGE, "test", "echo broken >&2; exit 7", "fine", "true", "do")
    seen = states(step)
    assert seen["s"].startswith("unreadable")
    with pytest.raises(CheckFailed, match="cannot be read"):
        changes_for("h", [step], seen)


def test_a_missing_answer_is_not_absence() -> None:
    step = kinds(Path("/nowhere"))[0]
    assert read_states([step], "")[step.id].startswith("unreadable")
