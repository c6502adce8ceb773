"""Ansible's YAML inventories: groups with `hosts`, `children` and `vars`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.ansible.raw import Raw
from inventory.errors import BringupError, raise_all
from inventory.nearest import did_you_mean

if TYPE_CHECKING:
    from inventory.document import Document, Where

KEYS = ("hosts", "vars", "children")


def is_tree(data: object) -> bool:
    """Whether data looks like an Ansible inventory: a mapping of groups that say nothing but these keys."""
    if not isinstance(data, dict) or not data:
        return False
    groups = [group for group in data.values() if group is not None]
    said = [isinstance(group, dict) and group.keys() <= {*KEYS} for group in groups]
    return all(said) and (bool(said) or "all" in data)


def parse(document: Document) -> Raw:
    """Read an inventory; raises `BadInput` or `Several` with file:line:col."""
    reader = _Reader(document)
    for name in reader.mapping(()):
        reader.group(name, (name,))
    raise_all(reader.errors)
    return reader.raw


@dataclass(slots=True)
class _Reader:
    document: Document
    raw: Raw = field(default_factory=Raw)
    errors: list[BringupError] = field(default_factory=list)

    def group(self, name: str, where: Where) -> None:
        group = self.raw.group(name)
        group.declared = True
        for key in self.mapping(where):
            if key not in KEYS:
                self.error((*where, key), f"unknown key {key}{did_you_mean(key, KEYS)}", key, ", ".join(KEYS))
        group.vars.update(self.mapping((*where, "vars")))
        for child in self.mapping((*where, "children")):
            if child not in group.children:
                group.children.append(child)
            self.group(child, (*where, "children", child))
        for pattern in self.mapping((*where, "hosts")):
            self.host(name, pattern, (*where, "hosts", pattern))

    def host(self, group: str, pattern: str, where: Where) -> None:
        try:
            self.raw.add(group, pattern, self.mapping(where))
        except ValueError as error:
            self.error(where, f"{pattern!a} cannot name hosts", pattern, str(error))

    def mapping(self, where: Where) -> dict[str, object]:
        """The mapping at a place, empty when there is none; one word stands for a mapping with one key."""
        value = self.document.data
        for part in where:
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str) and where[-1:] == ("hosts",):
            return {value: None}
        if value is not None and not isinstance(value, dict):
            self.error(where, f"{'.'.join(map(str, where))} is not a mapping", type(value).__name__, "a mapping")
            return {}
        return value or {}

    def error(self, where: Where, message: str, observed: str, required: str) -> None:
        self.errors.append(self.document.error(where, message, observed=observed, required=required, key=True))
