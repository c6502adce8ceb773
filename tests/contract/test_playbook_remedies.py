"""What a playbook settles the check tells: its remedy is the command that takes this playbook."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import pytest

from playbooks.checks import CHECKS
from playbooks.schema import PLAYBOOKS, find, load_playbook

TUNING = {"tuned", "raise_limit"}
"""Functions that name the playbook `tuning`."""
BY_VENDOR = {"nvidia", "amd"}
"""What `driver_playbook` names, by the GPUs of the host."""


def settled() -> list[tuple[str, str]]:
    """Each check that an entry of a playbook settles, with the playbook."""
    books = {name: load_playbook(find(name)) for name in PLAYBOOKS}
    return sorted({(check, name) for name, book in books.items() for one in book.entries for check in one.satisfies})


def named(source: str) -> Iterator[str]:
    """The playbooks that a module names in remedies."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in TUNING:
            yield "tuning"
        elif node.func.id == "driver_playbook":
            yield from BY_VENDOR
        elif node.func.id == "by_playbook":
            words = [one.value for one in ast.walk(node.args[1]) if isinstance(one, ast.Constant)]
            yield from (word.split()[0] for word in words if isinstance(word, str) and word.split())
            yield from (BY_VENDOR if "vendor" in ast.unparse(node.args[1]) else ())


@pytest.mark.parametrize(("check", "playbook"), settled())
def test_the_remedy_names_the_playbook(check: str, playbook: str) -> None:
    module = CHECKS[check]
    source = inspect.getsource(module)  # type: ignore[arg-type]  # (a module)
    assert playbook in set(named(source)), f"{check} is settled by {playbook}.yaml, and its remedy does not say so"


def test_no_remedy_names_a_playbook_that_settles_nothing_of_the_check() -> None:
    there = set(settled())
    for check, module in CHECKS.items():
        names = {name for name in named(inspect.getsource(module)) if name in PLAYBOOKS}  # type: ignore[arg-type]
        assert not names or names & {name for one, name in there if one == check}, check
