"""Values that truth.json writes in more than one form: they take the form that is expected of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SHIFTS = {"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes: as a number, or rounded as hwloc prints them (`46GiB`)."""

    bytes: int

    def resolved(self, expected: object) -> object:
        if isinstance(expected, str) and expected[-3:] in SHIFTS:
            shift = SHIFTS[expected[-3:]]
            return f"{((self.bytes >> (shift - 1)) + 1) >> 1}{expected[-3:]}"
        return self.bytes or None


@dataclass(frozen=True, slots=True)
class Either:
    """Rows, or only how many there are."""

    rows: object
    count: int

    def resolved(self, expected: object) -> object:
        return self.count if isinstance(expected, int) else self.rows


@dataclass(frozen=True, slots=True)
class Unordered:
    """A set that is written as a list."""

    members: frozenset[str]

    @classmethod
    def of(cls, members: Iterable[str]) -> Unordered:
        return cls(frozenset(members))

    def resolved(self, expected: object) -> object:
        if isinstance(expected, list) and len(expected) == len(self.members) and self.members == set(expected):
            return expected
        return sorted(self.members)
