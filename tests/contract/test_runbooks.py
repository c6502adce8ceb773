"""Every id that an operator can be shown has a runbook, and every runbook answers the same five questions."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inventory import errors
from inventory.transport import unreachable
from playbooks.checks import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
RUNBOOKS = ROOT / "docs/runbooks"
SECTIONS = ["Symptom", "Meaning", "Look (changes nothing)", "Fix", "Undo"]
ERRORS = {
    name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.BringupError)
}
# Where an id is handed on, not made.
PASSED_ON = {"inventory/errors.py", "inventory/transport/unreachable.py"}


def sources() -> Iterator[Path]:
    for package in ("inventory", "playbooks", "launch"):
        yield from sorted((ROOT / package).rglob("*.py"))
    yield from ROOT.glob("tasks.py")


def raised(path: Path) -> Iterator[tuple[int, ast.expr]]:
    """Line and `id=` of every error that is made in `path`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
            yield from ((node.lineno, keyword.value) for keyword in node.keywords if keyword.arg == "id")


def ids() -> dict[str, str]:
    """Each id and one place that has it."""
    found = dict.fromkeys(unreachable._FAILURES, "inventory/transport/unreachable.py")
    found |= dict.fromkeys(CHECKS, "playbooks/checks/__init__.py")
    for path in sources():
        for line, value in raised(path):
            if isinstance(value, ast.Constant):
                found[str(value.value)] = f"{path.relative_to(ROOT)}:{line}"
    return found


@pytest.mark.parametrize(("name", "place"), sorted(ids().items()))
def test_every_id_has_a_runbook(name: str, place: str) -> None:
    assert (RUNBOOKS / f"{name}.md").is_file(), f"{place} shows [{name}]: write docs/runbooks/{name}.md"


def test_an_id_is_written_where_it_is_raised() -> None:
    """A computed id cannot be looked up by this test, nor by a reader."""
    computed = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources()
        for line, value in raised(path)
        if not isinstance(value, ast.Constant) and str(path.relative_to(ROOT)) not in PASSED_ON
    ]
    assert computed == []


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("*.md")), ids=lambda path: path.stem)
def test_a_runbook_answers_the_same_questions(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {path.stem}"
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == SECTIONS
    assert len(lines) <= 60
