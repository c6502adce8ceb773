"""From what pydantic says of a document to what an operator can act on: one error for each place."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from inventory.document import short
from inventory.fields import keys_at, types_at
from inventory.nearest import did_you_mean
from inventory.secret import HIDDEN, Secret, Url

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from inventory.document import Document, Where
    from inventory.errors import BringupError

_NOISE: Final = frozenset({"default_factory_not_called"})
_QUOTED: Final = re.compile("'([^']+)'")
_WORDS: Final = {
    "a valid string": "text",
    "a valid integer": "a whole number, without quotes or leading zeros",
    "a valid number": "a number, without quotes",
    "a valid boolean": "true or false",
    "a valid array": "a list",
    "a valid tuple": "a list",
    "a valid list": "a list",
}


def explain(document: Document, error: ValidationError, model: object) -> list[BringupError]:
    """One `BadInput` for each place that is wrong; what the branches of a union want is one sentence."""
    found: dict[tuple[Where, str], list[ErrorDetails]] = {}
    for one in error.errors(include_url=False, include_context=False):
        where = _nearest(document, one["loc"])
        if one["type"] not in _NOISE and not (where in document.marks and document.marks[where].wrong):
            name = str(one["loc"][-1]) if one["type"] == "missing" else ""
            found.setdefault((where, name), []).append(one)
    ordered = sorted(found.items(), key=lambda item: _position(document, item[0][0]))
    return [_explain_one(document, where, details, model) for (where, _), details in ordered]


def _position(document: Document, where: Where) -> tuple[int, int]:
    mark = document.marks.get(where)
    return mark.key if mark else (0, 0)


def _nearest(document: Document, loc: tuple[str | int, ...]) -> Where:
    """The deepest place of the document that pydantic's location names; it also names branches of unions."""
    where: Where = ()
    for part in loc:
        for candidate in ((*where, part), (*where, str(part))):
            if candidate in document.marks:
                where = candidate
                break
    return where


def _explain_one(document: Document, where: Where, details: list[ErrorDetails], model: object) -> BringupError:
    first = details[0]
    if first["type"] == "extra_forbidden":
        return _unknown_key(document, where, model)
    if first["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        return _no_branch(document, where, first)
    if first["type"] == "missing":
        return _missing_key(document, where, str(first["loc"][-1]))
    if first["loc"] and first["loc"][-1] == "[key]":
        return document.error(
            where,
            f"{short(str(where[-1]))} cannot be a key here",
            observed=short(str(where[-1])),
            required=_required(first),
            key=True,
        )
    wants = " or ".join(dict.fromkeys(_required(one) for one in details))
    written, trap = _written(document, where, model), ""
    if written != HIDDEN and any(one["type"] == "string_type" for one in details):
        trap = _trap(document, where)
    return document.error(
        where,
        f"{_name(where)} cannot be {written}{did_you_mean(written, re.findall(_QUOTED, wants))}",
        observed=f"{written}{trap}",
        required=f"{wants}: put it in quotes" if trap else wants,
    )


def _unknown_key(document: Document, where: Where, model: object) -> BringupError:
    known = sorted(keys_at(model, where[:-1], _value(document, where[:-1])))
    word = str(where[-1])
    return document.error(
        where,
        f"unknown key {short(word)}{did_you_mean(word, known)}",
        observed=short(word),
        required=f"one of {', '.join(known)}",
        key=True,
    )


def _missing_key(document: Document, where: Where, name: str) -> BringupError:
    empty = document.data is None
    return document.error(
        where,
        f"the file is empty, {name} is missing" if empty else f"the key {name} is missing",
        observed=f"no {name} in {_name(where)}",
        required=f"the key {name}",
    )


def _no_branch(document: Document, where: Where, one: ErrorDetails) -> BringupError:
    """A word decides what a mapping may hold, and is none of those that there are."""
    key = re.findall(r"(?:discriminator|using) '(\w+)'", one["msg"])[-1]
    if one["type"] == "union_tag_not_found":
        return _missing_key(document, where, key)
    words = re.findall(_QUOTED, one["msg"].rpartition("expected tags:")[2])
    seen = short(str(_value(document, (*where, key))))
    return document.error(
        (*where, key),
        f"{_name((*where, key))} cannot be {seen}{did_you_mean(seen, words)}",
        observed=seen,
        required=f"one of {', '.join(words)}",
    )


def _name(where: Where) -> str:
    """A place as people write it: hosts.tray1.port, steps[2]."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{short(part)}" for part in where)
    return text.removeprefix(".") or "the file"


def _required(one: ErrorDetails) -> str:
    text = re.sub(r"^(?:Input should be|Value error,) ?", "", one["msg"])
    if one["type"] in {"model_type", "dict_type"}:
        return "a mapping (key: value)"
    return _WORDS.get(text, text)


def _written(document: Document, where: Where, model: object) -> str:
    """A value as the file has it; its kind when it is not a scalar."""
    mark, value = document.marks.get(where), _value(document, where)
    if isinstance(value, (dict, list)):
        return "a list" if isinstance(value, list) else "a mapping"
    if mark is None or not mark.raw:
        return "nothing" if mark is None or mark.plain else "empty text"
    if _is_secret(mark.raw, types_at(model, where)):
        return HIDDEN
    return short(mark.raw) if mark.plain else f'"{short(mark.raw)}"'


def _trap(document: Document, where: Where) -> str:
    """YAML takes some unquoted words for something else than text: `no`, `1e5`, `~`."""
    mark, value = document.marks.get(where), _value(document, where)
    if mark is None or not mark.plain or not mark.raw or isinstance(value, str):
        return ""
    if value is None:
        return ", which YAML reads as nothing"
    return f", which YAML reads as the {'boolean' if isinstance(value, bool) else 'number'} {json.dumps(value)}"


def _value(document: Document, where: Where) -> object:
    value = document.data
    for part in where:
        known = isinstance(value, dict) or (isinstance(value, list) and isinstance(part, int))
        value = value[part] if known else None
    return value


def _is_secret(raw: str, types: list[object]) -> bool:
    """A URL is shown unless it may hold a password."""
    secrets = [one for one in types if isinstance(one, type) and issubclass(one, Secret)]
    return any("@" in raw or not issubclass(one, Url) for one in secrets)
