"""JSON that came from a host: of the wrong shape as easily as cut off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fields:
    """The members of a JSON object; what is missing or of another type reads as nothing."""

    members: Mapping[str, object]

    def text(self, key: str) -> str:
        value = self.members.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int | None:
        """A whole number, also one written as a string."""
        value = self.members.get(key)
        if isinstance(value, bool) or not isinstance(value, int | str):
            return None
        digits = str(value).strip()
        return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None

    def flag(self, key: str) -> bool:
        return self.members.get(key) is True

    def object(self, key: str) -> Fields:
        value = self.members.get(key)
        return Fields(value if isinstance(value, dict) else {})

    def objects(self, key: str) -> tuple[Fields, ...]:
        return as_objects(self.members.get(key))


def as_objects(value: object) -> tuple[Fields, ...]:
    """The objects of a list, in order."""
    return tuple(Fields(one) for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def parse(text: str) -> object:
    """The first JSON value in `text`, None if there is none. What follows it (a legend, another value) is left."""
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    return parse_at(text, min(starts))[0] if starts else None


def parse_at(text: str, start: int) -> tuple[object, int]:
    """The value that begins at `start` and where it ends; None if there is none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start
    return value, end


def parse_object(text: str) -> Fields | None:
    value = parse(text)
    return Fields(value) if isinstance(value, dict) else None
