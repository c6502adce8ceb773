"""What the product tells people to type exists: every verb in a message, a runbook or the README, with its flags."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
TYPED = re.compile(r"(?:^|[`$;(&]\s*|: |run )invoke ((?:[a-z]+\.)?[a-z]+(?:-[a-z]+)*)(?![.\w])((?: [^`;|&\n]*)?)")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


def texts() -> Iterator[tuple[str, str]]:
    """Where it stands, and each text that a person may read there."""
    for package in ("inventory", "playbooks", "launch"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs/runbooks").glob("*.md")),
        *sorted((ROOT / "docs/reference").glob("*.md")),
    ):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line.strip()


@cache
def typed() -> Mapping[tuple[str, str], list[str]]:
    """The places of every command line in them, by its verb and each of its flags."""
    places: dict[tuple[str, str], list[str]] = {}
    for place, text in texts():
        for match in TYPED.finditer(text):
            for flag in ("", *FLAG.findall(match[2].partition("#")[0])):
                places.setdefault((match[1], flag), []).append(place)
    return places


@pytest.mark.parametrize(("verb", "flag"), sorted(typed()))
def test_what_people_are_told_to_type_exists(verb: str, flag: str) -> None:
    where = ", ".join(sorted(set(typed()[verb, flag]))[:3])
    assert verb in dict(tasks.VERBS), f"{where}: there is no verb {verb}"
    if flag:
        flags = {name for one in tasks.ns[verb].get_arguments() for name in one.names}
        assert flag.replace("-", "_") in flags or flag in {"help", *flags}, f"{where}: {verb} has no --{flag}"
