"""From an Ansible inventory file to an `Inventory`, by Ansible's own precedence of variables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inventory import grouping, names
from inventory.ansible import ini, tree
from inventory.ansible.hosts import Translator
from inventory.ansible.varfiles import VariableFiles
from inventory.document import short
from inventory.errors import BadInput, BringupError, raise_all
from inventory.schema import Host, Inventory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.ansible.raw import Raw, Variables
    from inventory.document import Document


def from_ini(text: str, source: Path) -> Inventory:
    """Read an INI inventory; raises `BadInput` or `Several`. Hosts that cannot be used are in `refused`."""
    return _build(ini.parse(text, str(source)), source)


def from_tree(document: Document, source: Path) -> Inventory:
    """Read a YAML inventory; raises `BadInput` or `Several`. Hosts that cannot be used are in `refused`."""
    return _build(tree.parse(document), source)


def _build(raw: Raw, source: Path) -> Inventory:
    children = {name: tuple(group.children) for name, group in raw.groups.items()}
    _refuse_circle(children, source)
    groups = grouping.members(children, {name: group.hosts for name, group in raw.groups.items()})
    files = VariableFiles(source.parent)
    translator = Translator(source)
    hosts: dict[str, Host] = {}
    refused: dict[str, BringupError] = {}
    for name, variables in _variables(raw, children, groups, files):
        try:
            hosts[name] = translator.host(name, variables)
        except BadInput as error:
            refused[name] = error
    raise_all(files.errors)
    usable, warnings = _usable(groups)
    return Inventory(
        hosts=hosts,
        groups={name: usable[name] for name in usable if name != "all" and usable[name]},
        source=source,
        warnings=tuple(_warnings(translator, refused, [*files.warnings, *warnings])),
        refused=refused,
    )


def _refuse_circle(children: grouping.Children, source: Path) -> None:
    round_trip = grouping.circle(children)
    if round_trip:
        raise BadInput(
            f"{source}: a group contains itself",
            id="ansible-inventory",
            observed=" > ".join(round_trip),
            required="no group inside itself",
        )


def _variables(
    raw: Raw, children: grouping.Children, groups: dict[str, tuple[str, ...]], files: VariableFiles
) -> Iterator[tuple[str, Variables]]:
    """Each host with its variables, merged in Ansible's order.

    Groups outer before inner, then by priority and name; all of the inventory file before all of group_vars; the
    host's own last.
    """
    depths = grouping.depths(children)
    order = sorted(groups, key=lambda name: (name != "all", depths[name], _priority(raw, name), name))
    members = {name: frozenset(groups[name]) for name in order}
    beside = {name: files.group(name) for name in order}
    for host, own in raw.hosts.items():
        mine = [name for name in order if name == "all" or host in members[name]]
        layers = [*(raw.groups[name].vars for name in mine), *(beside[name] for name in mine), own, files.host(host)]
        yield host, {key: value for layer in layers for key, value in layer.items()}


def _priority(raw: Raw, group: str) -> int:
    text = str(raw.groups[group].vars.get("ansible_group_priority", 1))
    return int(text) if text.isdecimal() and len(text) < 10 else 1


def _usable(groups: dict[str, tuple[str, ...]]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Groups whose name can be selected, and a warning for each other one."""
    usable, warnings = {}, []
    for name, hosts in groups.items():
        try:
            usable[name if name == "all" else names.host_name(name)] = hosts
        except ValueError:
            warnings.append(f"the group {name!a} is left out: its name cannot be selected")
    return usable, warnings


def _warnings(translator: Translator, refused: dict[str, BringupError], more: list[str]) -> Iterator[str]:
    for text, hosts in translator.notes.items():
        yield f"{translator.source}: {_some(hosts)}: {text}"
    yield from (f"{translator.source}: {text}" for text in more)
    for name, error in refused.items():
        yield f"{short(name)} cannot be used: {error.message}; observed {error.observed}"


def _some(hosts: list[str]) -> str:
    return ", ".join(map(short, hosts[:3])) + (f" and {len(hosts) - 3} others" if len(hosts) > 3 else "")
