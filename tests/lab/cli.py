"""The product as an operator types it: `invoke VERB ...` in a process of its own, against a lab's inventory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120"}
    if inventory:
        env["BRINGUP_INVENTORY"] = str(inventory)
    done = subprocess.run(
        [sys.executable, "-m", "invoke", *words],
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert not any(line.startswith("Traceback") for line in done.stderr.splitlines()), done.stderr
    return Typed(done.returncode, done.stdout, done.stderr)
