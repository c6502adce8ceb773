"""Errors of NVIDIA GPUs in the kernel's log. Newer drivers write one over several lines, of which the first counts."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import Xid

ADDRESS = r"(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?"
SINCE_BOOT = re.compile(r"^\[\s*(\d{1,12}\.\d{1,9})\]")
ERROR = re.compile(rf"NVRM:?\s+Xid \({ADDRESS}\):\s*(\d{{1,3}})\b[,\s]*(.*)")
LOST = re.compile(rf"NVRM:.*?{ADDRESS}.*fallen off the bus", re.IGNORECASE)
SPLIT = re.compile(rf"NVRM: The NVIDIA GPU {ADDRESS}")
FALLEN = re.compile(r"fallen off the bus", re.IGNORECASE)
ENOUGH = 100


def read_xids(answers: Answers) -> Maybe[tuple[Xid, ...]]:
    """None of them is an answer; a log that may not be read is none."""
    asked = answers.item("kernel_log.errors")
    if isinstance(asked, Unknown):
        return asked
    if asked.status:
        return asked.reason
    uptime = answers.text("kernel_log.uptime")
    return parse_xids(asked.text, None if isinstance(uptime, Unknown) else parse_uptime(uptime))


def parse_uptime(text: str) -> float | None:
    """Seconds since boot in /proc/uptime."""
    word = next(iter(text.split()), "")
    return float(word) if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", word) else None


def parse_xids(log: str, uptime: float | None = None) -> tuple[Xid, ...]:
    """The last hundred errors in a kernel log of any form, each once. Ages need times since boot and `uptime`."""
    found: dict[tuple[int | None, str, float | None], Xid] = {}
    split = ""
    for line in log.splitlines():
        one = error_in(line, uptime)
        if one is None and split and FALLEN.search(line):
            one = Xid(None, split, age(line, uptime), "fallen off the bus")
        match = SPLIT.search(line)
        split = match[1].lower() if match else split
        if one:
            found.setdefault((one.code, one.gpu, one.age_s), one)
    return tuple(found.values())[-ENOUGH:]


def error_in(line: str, uptime: float | None) -> Xid | None:
    if match := ERROR.search(line):
        return Xid(int(match[2]), match[1].lower(), age(line, uptime), match[3].strip()[:160])
    if match := LOST.search(line):
        return Xid(None, match[1].lower(), age(line, uptime), "fallen off the bus")
    return None


def age(line: str, uptime: float | None) -> float | None:
    match = SINCE_BOOT.match(line)
    return max(0.0, uptime - float(match[1])) if match and uptime is not None else None
