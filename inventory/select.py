"""Which hosts: `tray1,gpu[01-16],@rack2,!gpu07`.

Pure: what the inventory lists comes as arguments. Items are separated by commas or spaces and taken in order; a host
that several items name counts once; exclusions count wherever they stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from inventory import names, ranges
from inventory.errors import BadInput, BringupError, raise_all
from inventory.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

MAX_TEXT: Final = 65536
HELP: Final = "less docs/reference/inventory.md"

_ITEM = re.compile(r"(?:\[[^\]]*\]|[^,\s])+")
_MANY: Final = 64  # names that are compared one by one
_ALMOST: Final = 0.8  # tray3 is this like tray1; gpu-17 is more like gpu-07


@dataclass(frozen=True, slots=True)
class Listed:
    """What an inventory lists. `hosts` in its order; `groups` with all hosts in and below each.

    `mentions` tells whether ssh_config says something of a name; None: only listed hosts may be selected.
    `edit` is the command that changes the inventory.
    """

    hosts: Collection[str]
    groups: Mapping[str, Collection[str]]
    mentions: Callable[[str], bool] | None = None
    edit: str = HELP


def select(text: str, listed: Listed) -> tuple[str, ...]:
    """The names that `text` selects, in its order, each once.

    Raises `BadInput`, or `Several`, for wrong syntax, unknown groups, names that are nearly a listed one, the same
    item twice, and a selection of nothing.
    """
    items = _items(text)
    errors: list[BringupError] = []
    chosen: dict[str, None] = {}
    refused: dict[str, str] = {}
    for item in items:
        try:
            found = _names(item.removeprefix("!"), listed)
        except BadInput as error:
            errors.append(error)
            continue
        if item.startswith("!"):
            refused.update(dict.fromkeys(found, item))
        else:
            chosen.update(dict.fromkeys(found))
        if len(chosen) + len(refused) > ranges.MAX_HOSTS:
            raise _bad("too many hosts", observed=item, required=f"at most {ranges.MAX_HOSTS} hosts")
    errors += [*_unknown(chosen, listed), *_idle(refused, chosen, listed)]
    raise_all(errors)
    left = tuple(name for name in chosen if name not in refused)
    if not left:
        raise _bad("this selects no host", observed=text, required="at least one host", next_command=listed.edit)
    return left


def _bad(message: str, *, observed: str, required: str, next_command: str = HELP) -> BadInput:
    return BadInput(message, id="host-selection", observed=observed, required=required, next_command=next_command)


def _items(text: str) -> list[str]:
    if len(text) > MAX_TEXT:
        raise _bad("the selection is too long", observed=f"{len(text)} characters", required=f"at most {MAX_TEXT}")
    if "\0" in text or not text.replace("\n", " ").replace("\t", " ").isprintable():
        raise _bad("the selection has unprintable characters", observed=ascii(text[:80]), required="names")
    items = _ITEM.findall(text)
    if not items:
        raise _bad("no hosts are selected", observed=f'"{text}"', required="hosts, such as tray1,gpu[01-16],@rack2")
    gaps = _ITEM.sub("x", text.strip())
    if gaps.startswith(",") or re.search(r",\s*,", gaps):
        raise _bad("an item of the selection is empty", observed=text, required="one comma between two items")
    if all(item.startswith("!") for item in items):
        raise _bad(
            "the selection only excludes", observed=text, required=f"hosts to exclude from: all,{','.join(items)}"
        )
    twice = [item for item in dict.fromkeys(items) if items.count(item) > 1]
    if twice:
        raise _bad(f"{twice[0]} stands twice in the selection", observed=text, required="every item once")
    return items


def _names(item: str, listed: Listed) -> tuple[str, ...]:
    if item in {"all", "@all"}:
        if not listed.hosts:
            raise _bad("the inventory lists no hosts", observed=item, required="hosts", next_command=listed.edit)
        return tuple(listed.hosts)
    group = item.startswith("@")
    found = _expand(item, item.removeprefix("@"))
    if not group:
        return found
    return tuple(host for name in found for host in _members(name, listed))


def _expand(item: str, pattern: str) -> tuple[str, ...]:
    if pattern.startswith("-"):
        raise _bad(f"{item} is an option, not a host", observed=item, required="hosts")
    if "@" in pattern:
        raise _bad(
            f"{item} is not a host name", observed=item, required="a name; its user in the inventory or ssh_config"
        )
    try:
        return tuple(names.host_name(name) for name in ranges.expand(pattern))
    except ValueError as error:
        raise _bad(f"{item} cannot be selected", observed=item, required=str(error)) from None


def _members(group: str, listed: Listed) -> Collection[str]:
    if group in listed.groups:
        return listed.groups[group]
    near = nearest(group, listed.groups)
    hint = f", did you mean @{near}?" if near else ""
    if group in listed.hosts:
        hint = f": {group} is a host, without @"
    raise _bad(
        f"there is no group {group}{hint}",
        observed=f"@{group}",
        required=f"one of {', '.join(f'@{name}' for name in listed.groups)}"
        if listed.groups
        else "no @: there are no groups",
        next_command=listed.edit,
    )


def _unknown(chosen: Collection[str], listed: Listed) -> Iterator[BadInput]:
    """Names that the inventory does not list: good when ssh knows them and they are no slip of the finger."""
    outside = [name for name in chosen if name not in listed.hosts and name not in names.LOCAL_NAMES]
    if listed.hosts and len(outside) > _MANY:
        yield _bad(
            f"{len(outside)} of the selected hosts are not in the inventory",
            observed=f"{outside[0]} to {outside[-1]}",
            required="listed hosts",
            next_command=listed.edit,
        )
    else:
        letters = [name for name in outside if len(name) == 1]
        for name in outside:
            yield from _outside(name, listed, doubtful=len(letters) > 1 and name in letters)


def _outside(name: str, listed: Listed, *, doubtful: bool) -> Iterator[BadInput]:
    """`doubtful`: one letter among others, as when a list of names was split letter by letter."""
    near = nearest(name, listed.hosts, likeness=_ALMOST)
    if name in listed.groups:
        yield _bad(f"{name} is a group", observed=name, required=f"@{name}", next_command=listed.edit)
    elif listed.mentions is None or ((near or doubtful) and not listed.mentions(name)):
        near = near or nearest(name, listed.hosts)
        yield _bad(
            f"{name} is not in the inventory{f', did you mean {near}?' if near else ''}",
            observed=name,
            required="a listed host" if listed.mentions is None else "a listed host, or one that ssh_config names",
            next_command=listed.edit,
        )


def _idle(refused: Mapping[str, str], chosen: Collection[str], listed: Listed) -> Iterator[BadInput]:
    """An exclusion of an unknown host is a slip that would touch the very host that was to be spared."""
    idle = [(name, item) for name, item in refused.items() if name not in chosen and name not in listed.hosts]
    for name, item in idle[:_MANY]:
        near = nearest(name, listed.hosts)
        yield _bad(
            f"{item} excludes {name}, which is not there{f', did you mean {near}?' if near else ''}",
            observed=item,
            required="an exclusion of a selected or listed host",
            next_command=listed.edit,
        )
