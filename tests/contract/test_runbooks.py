"""Every id that an operator can be shown has a runbook, and every runbook answers the same five questions."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inventory.transport import unreachable
from playbooks.checks import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
RUNBOOKS = ROOT / "docs/runbooks"
SECTIONS = ["Symptom", "Meaning", "Look (changes nothing)", "Fix", "Undo"]
AN_ID = re.compile(r"[a-z][a-z0-9]*([.-][a-z0-9_]+)*")


def sources() -> Iterator[Path]:
    for package in ("inventory", "playbooks", "launch"):
        yield from sorted((ROOT / package).rglob("*.py"))
    yield from ROOT.glob("tasks.py")


def written(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every `id=` in `path`, given or a default; `*` for what a format string fills in."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield from ((node.lineno, text(k.value)) for k in node.keywords if k.arg == "id")
        if isinstance(node, ast.FunctionDef):
            named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            yield from ((node.lineno, text(value)) for one, value in named if one.arg == "id" and value)


def text(value: ast.expr) -> str:
    if isinstance(value, ast.JoinedStr):
        return "".join("*" if isinstance(part, ast.FormattedValue) else text(part) for part in value.values)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def ids() -> dict[str, str]:
    """Each id and one place that has it."""
    found = dict.fromkeys(unreachable._FAILURES, "inventory/transport/unreachable.py")
    found |= dict.fromkeys(CHECKS, "playbooks/checks/registry.py")
    for path in sources():
        for line, name in written(path):
            if AN_ID.fullmatch(name.replace("*", "x")):
                found[name] = f"{path.relative_to(ROOT)}:{line}"
    return found


@pytest.mark.parametrize(("name", "place"), sorted(ids().items()))
def test_every_id_has_a_runbook(name: str, place: str) -> None:
    assert list(RUNBOOKS.glob(f"{name}.md")), f"{place} shows [{name}]: write docs/runbooks/{name}.md"


def test_the_search_finds_ids() -> None:
    assert {"locked", "host-key-changed", "ssh.reach", "yaml-file"} <= ids().keys()


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("*.md")), ids=lambda path: path.stem)
def test_a_runbook_answers_the_same_questions(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {path.stem}"
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == SECTIONS
    assert len(lines) <= 60
