"""Adding a check: a module of the usual shape, listed, with a runbook. These tests name what was forgotten."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from playbooks import checks
from playbooks.checks import CHECKS, GANG_CHECKS, HOST_CHECKS
from playbooks.checks.base import Check, Priority

ROOT = Path(__file__).resolve().parents[4]
FOLDER = ROOT / "playbooks/checks"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if "\nID = " in path.read_text(encoding="utf-8"))
LISTED = (*HOST_CHECKS, *GANG_CHECKS)


def test_every_module_is_listed_once() -> None:
    assert sorted(check.ID.replace(".", "_") for check in LISTED) == MODULES
    assert len(CHECKS) == len(LISTED)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_named_after_its_id(name: str) -> None:
    assert getattr(checks, name).ID.replace(".", "_") == name


@pytest.mark.parametrize("check", LISTED, ids=lambda check: check.ID)
def test_the_shape_is_uniform(check: Check) -> None:
    assert isinstance(check.PRIORITY, Priority)
    assert check.WHY
    assert "\n" not in check.WHY
    assert not check.WHY.endswith(".")
    assert check.WHY[0].islower()


@pytest.mark.parametrize("check", LISTED, ids=lambda check: check.ID)
def test_every_check_has_a_runbook(check: Check) -> None:
    assert (ROOT / f"docs/runbooks/{check.ID}.md").is_file()


@pytest.mark.parametrize("name", MODULES)
def test_a_check_neither_runs_nor_reads_anything(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    forbidden = ("subprocess", "socket", "os", "pathlib", "inventory.transport", "launch")
    assert not [module for module in imported if any(f"{module}.".startswith(f"{name}.") for name in forbidden)]


def test_loading_all_checks_loads_no_transport() -> None:
    code = "import sys, playbooks.check; print(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"subprocess", "socket", "fabric", "paramiko", "yaml", "rich", "pydantic"}
    assert "inventory.transport.ssh" not in loaded
