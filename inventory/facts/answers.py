"""The framed answer of the gathering script, taken apart: what each command said, or why it said nothing.

The frame (see sh/end.sh): a line `bringup-facts 1 MARK`, a table of lengths and names, each file after a line MARK, at
last MARK and `end`. The mark is random and new each time, so nothing inside a file can look like one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from inventory.facts.base import Maybe, Unknown, Why

HEADER = re.compile(rb"^bringup-facts (\d+) ([0-9a-f-]{16,64})\n", re.MULTILINE)
LENGTH = re.compile(rb"\s*(\d+)\s+([a-z0-9_.-]+)")
REFUSAL = re.compile(
    r"permission denied|not permitted|access denied|password is required|insufficient permissions|"
    r"may not run sudo|not in the sudoers|must be root|are you root|only root can",
    re.IGNORECASE,
)
FORMAT_VERSION = 1
TIMED_OUT_STATUSES = frozenset({124, 137})


@dataclass(frozen=True, slots=True)
class Item:
    """What one command said. Text is decoded as UTF-8; what is not becomes U+FFFD."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", errors="replace")

    @property
    def complaint(self) -> str:
        """The first line that explains a failure, fit for one line of a report."""
        return first_line(self.err) or first_line(self.out) or f"exit status {self.status}"

    @property
    def reason(self) -> Unknown:
        """Why this command gave no value; asked only when it did not."""
        if self.status == 127:
            return Unknown(Why.MISSING_TOOL, self.complaint)
        if self.status == 126 or REFUSAL.search(self.complaint):
            return Unknown(Why.REFUSED, self.complaint)
        if self.status in TIMED_OUT_STATUSES:
            return Unknown(Why.TIMED_OUT, self.complaint)
        if self.status == 0:
            return Unknown(Why.EMPTY)
        return Unknown(Why.UNREADABLE, f"exit status {self.status}: {self.complaint}")

    @property
    def missing_file(self) -> bool:
        """The command failed because a file is not there: an answer, not a failure."""
        return self.status != 0 and "No such file or directory" in self.complaint


@dataclass(frozen=True, slots=True)
class Answers:
    """All items of one answer. `fault` says what is wrong with the whole, empty if nothing is."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    damaged: frozenset[str] = frozenset()
    fault: str = ""

    def item(self, name: str) -> Maybe[Item]:
        """What the command `section.name` said, whatever its exit status."""
        out, err = f"{name}.out", f"{name}.err"
        if {out, err, f"{section_of(name)}.status"} & self.damaged:
            return Unknown(Why.UNREADABLE, f"{name}: the answer came damaged")
        if name in self.statuses and out in self.files:
            return Item(self.statuses[name], self.files[out], self.files.get(err, b""))
        return self.silence(section_of(name))

    def silence(self, section: str) -> Unknown:
        """Why a section did not come to an item."""
        ended = self.files.get(f"{section}.end")
        if ended is None and f"{section}.end.err" in self.files:
            return Unknown(Why.TIMED_OUT, f"{section}: did not end, not even when killed")
        if ended is None:
            why = Why.UNREADABLE if self.fault else Why.NOT_ASKED
            return Unknown(why, self.fault or f"{section}: not asked")
        if ended.strip() in {b"124", b"137"}:
            return Unknown(Why.TIMED_OUT, f"{section}: no answer before its deadline")
        complaint = first_line(self.files.get(f"{section}.end.err", b""))
        return Unknown(Why.UNREADABLE if complaint else Why.NOT_ASKED, complaint)

    def text(self, name: str) -> Maybe[str]:
        """What a command printed, if it succeeded and printed anything."""
        item = self.item(name)
        if isinstance(item, Unknown):
            return item
        if item.status != 0 or not item.out.strip():
            return item.reason
        return item.text

    def pages(self, kind: str) -> tuple[tuple[str, Item], ...]:
        """All items `kind.1`, `kind.2`, ... (their first line is the key) in that order."""
        number = re.compile(re.escape(kind) + r"\.(\d+)")
        found = sorted((int(match[1]), name) for name in self.statuses if (match := number.fullmatch(name)))
        items = ((name, self.item(name)) for _, name in found)
        return tuple(keyed(item) for _, item in items if not isinstance(item, Unknown))


def keyed(item: Item) -> tuple[str, Item]:
    key, _, rest = item.out.partition(b"\n")
    return key.decode("utf-8", errors="replace"), Item(item.status, rest, item.err)


def section_of(name: str) -> str:
    return name.partition(".")[0]


def first_line(data: bytes) -> str:
    """The first line that is not blank, printable, at most 160 characters."""
    for line in data[:4096].decode("utf-8", errors="replace").splitlines():
        text = "".join(char if char.isprintable() else " " for char in line).strip()
        if text:
            return text[:160]
    return ""


def unframe(answer: bytes) -> Answers:
    """Take an answer apart. Never raises: what is damaged or cut off is marked so."""
    header = HEADER.search(answer)
    if header is None:
        return Answers(fault=f"no answer of the script: {first_line(answer) or 'nothing came'}")
    if int(header[1]) != FORMAT_VERSION:
        return Answers(fault=f"format version {int(header[1])}, not {FORMAT_VERSION}")
    table, *bodies = answer[header.end() :].split(b"\n" + header[2] + b"\n")
    named = [match.groups() for line in table.splitlines() if (match := LENGTH.fullmatch(line))]
    expected = [(name.decode(), int(length)) for length, name in named if name != b"total"]
    whole = len(bodies) == len(expected) + 1 and bodies[-1].startswith(b"end\n")
    files = {name: body for (name, _), body in zip(expected, bodies, strict=False)}
    damaged = frozenset(name for name, length in expected if name in files and len(files[name]) != length)
    return Answers(
        files={name: body for name, body in files.items() if name not in damaged},
        statuses=statuses_in(files),
        damaged=damaged,
        fault="" if whole else "the answer was cut off",
    )


def statuses_in(files: Mapping[str, bytes]) -> dict[str, int]:
    """Exit status by item, from the files `SECTION.status` with lines `SECTION.item STATUS`."""
    lines = (line.split() for name, body in files.items() if name.endswith(".status") for line in body.splitlines())
    return {
        words[0].decode("ascii", errors="replace"): int(words[1])
        for words in lines
        if len(words) == 2 and words[1].isdigit() and len(words[1]) < 4
    }
