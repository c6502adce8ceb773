"""The processes that hold GPUs, those of vLLM, and their ancestors: who they are and who started them."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import Process

LINE = re.compile(
    r"\s*(\d{1,10})\s+(\d{1,10})\s+(\S+)\s+"
    r"(\w{3}\s+\w{3}\s+\d{1,2}\s+\d\d:\d\d:\d\d\s+\d{4}|\S+)\s+(\S.*?)\s*"
)


def read_processes(answers: Answers) -> Maybe[tuple[Process, ...]]:
    asked = [answers.item(name) for name in ("nvidia.owners", "amd.owners")]
    found = next((one for one in asked if not isinstance(one, Unknown)), asked[0])
    if isinstance(found, Unknown):
        return found
    return found.reason if found.status else parse_processes(found.text)


def parse_processes(text: str) -> tuple[Process, ...]:
    """Lines of `ps -o pid,ppid,user,lstart,args`; a header and what is no such line are left out."""
    matches = filter(None, map(LINE.fullmatch, text.splitlines()))
    return tuple(
        Process(int(pid), int(parent), user, " ".join(started.split()), command[:160])
        for pid, parent, user, started, command in (match.groups() for match in matches)
    )
