"""The named end of a program, and how the control machine is told."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path


class Ended(Exception):
    """`name` is an id that has a runbook; `seen` is what was seen."""

    def __init__(self, name: str, seen: object) -> None:
        super().__init__(f"{name} {seen}")
        self.name = name
        self.seen = " ".join(str(seen).split())[:300]


def say_progress(work: Path, there: int, total: int, verified: int, word: str) -> None:
    """How far it is: for who follows, and in a file for who asks."""
    line = f"{word}: {there} of {total} bytes, {verified} read"
    say(line)
    with contextlib.suppress(OSError):
        (work / "told.new").write_text(f"{line}\n", encoding="utf-8")
        (work / "told.new").replace(work / "told")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
