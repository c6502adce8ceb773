"""A saved plan is compared, never run; and what changes in files is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import BadInput, ChangeFailed
from playbooks.contents import LARGEST, contents_script, diff, read_contents
from playbooks.plan import FORMAT_VERSION, FileContent, Plan, changes_for
from playbooks.savedplan import read_saved, refuse_other, save_plan
from tests.unit.playbooks.books.entries import HOSTILE, step
from tests.unit.playbooks.sh import sh

STEP = step("file", path="/tmp/x", content=HOSTILE)
CHANGES = changes_for("h", [STEP], {STEP.id: "absent"})
PLAN = Plan(FORMAT_VERSION, "book", "", "x", ("h",), (), CHANGES)


def test_a_plan_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    save_plan(tmp_path / "p", PLAN, {"hosts": "h", "playbook": "book"})
    asked, saved = read_saved(tmp_path / "p")
    assert asked == {"hosts": "h", "playbook": "book"}
    refuse_other(saved, PLAN)
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("field", ["before", "script", "probe", "sudo"])
def test_a_change_that_is_another_now_is_refused(tmp_path: Path, field: str) -> None:
    save_plan(tmp_path / "p", PLAN, {})
    document = json.loads((tmp_path / "p").read_text())
    document["plan"]["changes"][0][field] = "touch /tmp/evil"
    with pytest.raises(ChangeFailed) as caught:
        refuse_other(document["plan"], PLAN)
    assert caught.value.id == "plan-outdated"
    assert "is another one" in caught.value.observed


def test_what_is_new_or_gone_is_refused(tmp_path: Path) -> None:
    save_plan(tmp_path / "p", PLAN, {})
    _, saved = read_saved(tmp_path / "p")
    with pytest.raises(ChangeFailed, match="they differ") as caught:
        refuse_other(saved, replace(PLAN, changes=()))
    assert "not needed any more" in caught.value.observed
    with pytest.raises(ChangeFailed) as caught:
        refuse_other({"changes": []}, PLAN)
    assert "is new" in caught.value.observed


def test_a_file_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("looked at")
    with pytest.raises(BadInput) as caught:
        save_plan(tmp_path / "p", PLAN, {})
    assert caught.value.id == "plan-file"
    assert (tmp_path / "p").read_text() == "looked at"


GOOD: dict[str, object] = {"kind": "install-plan", "format_version": 1, "asked": {}, "plan": {"changes": []}}


@pytest.mark.parametrize(
    "document",
    [
        "",
        "{}",
        "[]",
        json.dumps({**GOOD, "format_version": 2}),
        json.dumps({**GOOD, "kind": "plan"}),
        json.dumps({**GOOD, "asked": []}),
        json.dumps({**GOOD, "plan": {"changes": [1]}}),
    ],
)
def test_what_is_no_saved_plan_is_refused(tmp_path: Path, document: str) -> None:
    (tmp_path / "p").write_text(document)
    with pytest.raises(BadInput) as caught:
        read_saved(tmp_path / "p")
    assert caught.value.id == "plan-file"


def test_contents_are_read_whatever_they_are_called(tmp_path: Path) -> None:
    path = tmp_path / HOSTILE
    path.write_bytes(b"one\nt\xc3\xa9\n")
    there = step("file", path=str(path), content="one\ntwo\n")
    gone = step("file", path=f"{tmp_path}/none", content="x")
    secret = step("file", path=str(path), content="x", secret=True)
    changes = [changes_for("h", [one], {one.id: "other"})[0] for one in (there, gone, secret)]
    seen = read_contents(sh(contents_script(changes)).stdout)
    assert seen == {0: b"one\nt\xc3\xa9\n"}
    assert diff(changes[0].content, seen[0])[-3:] == [" one", "-té", "+two"]  # type: ignore[arg-type]
    assert diff(changes[1].content, None)[0] == "--- /dev/null"  # type: ignore[arg-type]
    assert diff(changes[2].content, None) == [f"{path}: its content is not shown"]  # type: ignore[arg-type]


def test_a_removal_a_last_line_end_and_what_is_no_text() -> None:
    assert diff(FileContent("/a", None), b"x\n")[:2] == ["--- /a", "+++ /dev/null"]
    assert diff(FileContent("/a", "x"), b"x\n") == ["\\ the line end at the end of the file differs"]
    for binary in (b"\0", b"x" * (LARGEST + 1)):
        assert "no text" in diff(FileContent("/a", "x"), binary)[0]
