"""The static checks, run as tests so that one command says everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SOURCES = ("inventory", "playbooks", "launch", "tests/golden", ".ci")


def run(*command: str | Path) -> None:
    """Run a tool in the root of the checkout; its own words are the failure."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_ruff() -> None:
    run(BIN / "ruff", "check", "--no-cache", "--output-format", "concise", ".")


def test_format() -> None:
    run(BIN / "ruff", "format", "--no-cache", "--check", ".")


@pytest.mark.timeout(900)
def test_types() -> None:
    run(BIN / "mypy")


def test_imports() -> None:
    run(BIN / "lint-imports", "--no-cache")


def shell_scripts() -> list[Path]:
    by_name = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.sh"))]
    return [*by_name, ROOT / ".ci/run"]


@pytest.mark.parametrize("script", shell_scripts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_shellcheck(script: Path) -> None:
    run("shellcheck", script)
