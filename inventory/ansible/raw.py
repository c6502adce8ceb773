"""An Ansible inventory as it is written: hosts and groups with their variables, nothing decided yet."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Final

from inventory.ranges import MAX_HOSTS

Variables = dict[str, object]

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(?:([0-9]{1,9}):([0-9]{1,9})|([a-z]):([a-z])|([A-Z]):([A-Z]))(?::([0-9]{1,9}))?")
_PORT = re.compile(r"([^:\[\]]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")
IMPLICIT: Final = ("all", "ungrouped")


@dataclass(slots=True)
class Group:
    """`declared`: it has a section or key of its own and is not only mentioned."""

    hosts: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    vars: Variables = field(default_factory=dict)
    declared: bool = False


@dataclass(slots=True)
class Raw:
    hosts: dict[str, Variables] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=lambda: {name: Group(declared=True) for name in IMPLICIT})

    def group(self, name: str) -> Group:
        return self.groups.setdefault(name, Group())

    def add(self, group: str, pattern: str, variables: Variables) -> None:
        """Add the hosts of a pattern, `web[01:50]` or `host:2222`, to a group; raises `ValueError`."""
        port: Variables = {}
        if match := _PORT.fullmatch(pattern):
            pattern, port = match.group(1).strip("[]"), {"ansible_port": int(match.group(2))}
        for name in expand(pattern):
            self.hosts.setdefault(name, {}).update({**port, **variables})
            if name not in self.group(group).hosts:
                self.group(group).hosts.append(name)
        if len(self.hosts) > MAX_HOSTS:
            raise ValueError(f"at most {MAX_HOSTS} hosts")


def expand(pattern: str) -> list[str]:
    """All names of an Ansible pattern: `[01:50]`, `[a:f]`, with a step `[0:8:2]`; raises `ValueError`."""
    literals = _BRACKETS.split(pattern)[::2]
    if any(one in literal for literal in literals for one in "[]"):
        raise ValueError("brackets in pairs, not inside each other")
    choices = [_choices(inside) for inside in _BRACKETS.findall(pattern)]
    rows = itertools.islice(itertools.product(*choices), MAX_HOSTS + 1)
    found = [literals[0] + "".join(text + rest for text, rest in zip(row, literals[1:], strict=True)) for row in rows]
    if len(found) > MAX_HOSTS:
        raise ValueError(f"at most {MAX_HOSTS} hosts")
    return found


def _choices(inside: str) -> list[str]:
    match = _RANGE.fullmatch(inside)
    if match is None:
        raise ValueError("a range such as [01:50] or [a:f] in brackets")
    first, last = [one for one in match.groups()[:-1] if one]
    step = int(match.groups()[-1] or 1)
    if first.isdigit():
        if first[0] == "0" and len(first) > 1 and len(first) != len(last):
            raise ValueError("both ends of a zero-padded range with as many digits")
        width = len(first) if first[0] == "0" else 1
        texts = (f"{number:0{width}}" for number in _up(int(first), int(last), step))
    else:
        texts = (chr(number) for number in _up(ord(first), ord(last), step))
    return list(itertools.islice(texts, MAX_HOSTS + 1))


def _up(first: int, last: int, step: int) -> range:
    if last < first or step < 1:
        raise ValueError("a range that counts up")
    return range(first, last + 1, step)
