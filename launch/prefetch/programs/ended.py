"""The named end of a program, and how the control machine is told."""

from __future__ import annotations

import sys


class Ended(Exception):
    """`name` is an id that has a runbook; `seen` is what was seen."""

    def __init__(self, name: str, seen: object) -> None:
        super().__init__(f"{name} {seen}")
        self.name = name
        self.seen = " ".join(str(seen).split())[:300]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
