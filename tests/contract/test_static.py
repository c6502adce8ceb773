"""The static checks, run as tests so that one command says everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SOURCES = ("inventory", "playbooks", "launch", "tests/golden")


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


# Pieces that are put together to one script: a variable of one is set in another. The whole is checked as golden file.
PIECES = ("inventory/facts", "launch/programs")


def shell_scripts() -> list[str]:
    found = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.sh"))]
    return [str(path.relative_to(ROOT)) for path in found]


@pytest.mark.parametrize("script", shell_scripts())
def test_shellcheck(script: str) -> None:
    run("shellcheck", "--shell=sh", *(["--exclude=SC2034,SC2154"] if script.startswith(PIECES) else []), script)


def test_shellcheck_of_ci() -> None:
    run("shellcheck", ".ci/run")
