"""The product as an operator types it: `invoke VERB ...` in a process of its own, against a lab's inventory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Typed:
    """What came of one command line. `said` is stderr, where talk goes."""

    code: int
    out: str
    said: str

    @property
    def data(self) -> Any:  # noqa: ANN401  (whatever the document holds)
        return json.loads(self.out)["data"]

    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.said}"


def invoke(*words: str, inventory: Path | None = None, timeout_s: float = 240) -> Typed:
    """Type a command line and wait for its end."""
    with typing(*words, inventory=inventory) as process:
        out, said = process.communicate(timeout=timeout_s)
    assert not any(line.startswith("Traceback") for line in said.splitlines()), said
    return Typed(process.returncode, out, said)


@contextmanager
def typing(*words: str, inventory: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A command line that goes on; it is ended with the block."""
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "PYTHONUNBUFFERED": "1"}
    if inventory:
        env["BRINGUP_INVENTORY"] = str(inventory)
    with subprocess.Popen(
        [sys.executable, "-m", "invoke", *words],
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    """Read what is said until a line holds `text`."""
    assert process.stderr
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"it ended before it said: {text}")
