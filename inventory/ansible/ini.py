"""Ansible's INI inventories: `[group]`, `[group:children]`, `[group:vars]`, `host key=value`."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from inventory.ansible.raw import Raw
from inventory.document import bad
from inventory.errors import BringupError, raise_all

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECTION = re.compile(r"\[([^\[\]:\s]+)(?::(vars|children|hosts))?\]\s*(?:[#;].*)?")
_ASSIGNMENT = re.compile(r"([^=\s]+)\s*=\s*(.*)")


def parse(text: str, name: str) -> Raw:
    """Read an inventory; raises `BadInput` or `Several` with file:line:col."""
    raw = Raw()
    errors: list[tuple[int, BringupError]] = []
    mentioned: dict[str, int] = {}
    group, kind = "ungrouped", "hosts"
    for number, line in _lines(text):
        try:
            if line.startswith("["):
                group, kind = _section(line)
                raw.group(group).declared |= kind != "vars"
                mentioned.setdefault(group, number)
            elif kind == "children":
                mentioned.setdefault(_child(raw, group, line), number)
            elif kind == "vars":
                raw.group(group).vars.update([_assignment(line)])
            else:
                _host(raw, group, line)
        except ValueError as error:
            bad_line = _bad(name, number, "this is not an Ansible inventory line", line[:60], str(error))
            errors.append((number, bad_line))
    errors += [
        (number, _bad(name, number, f"the group {one} has no section of its own", one, f"[{one}]"))
        for one, number in mentioned.items()
        if not raw.group(one).declared
    ]
    raise_all([error for _, error in sorted(errors, key=lambda item: item[0])])
    return raw


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and line.strip()[0] not in "#;":
            yield number, line.strip()


def _bad(name: str, number: int, message: str, observed: str, required: str) -> BringupError:
    return bad(name, (number - 1, 0), message, observed, required, id="ansible-inventory")


def _section(line: str) -> tuple[str, str]:
    match = _SECTION.fullmatch(line)
    if match is None:
        raise ValueError("[group], [group:children] or [group:vars]")
    return match.group(1), match.group(2) or "hosts"


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise ValueError(f"quotes in pairs ({error})") from None


def _child(raw: Raw, group: str, line: str) -> str:
    words = _words(line)
    if len(words) != 1:
        raise ValueError("one group a line")
    raw.group(words[0])
    raw.group(group).children.append(words[0])
    return words[0]


def _assignment(text: str) -> tuple[str, object]:
    match = _ASSIGNMENT.fullmatch(text)
    if match is None:
        raise ValueError("key=value")
    key, value = match.groups()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return key, value[1:-1] if quoted else value.strip()


def _host(raw: Raw, group: str, line: str) -> None:
    pattern, *words = _words(line)
    raw.add(group, pattern, dict(map(_assignment, words)))
