"""From `hosts.yaml` to an `Inventory`: ranges expanded, groups resolved, settings merged, all errors at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from inventory import grouping, names, ranges
from inventory.errors import BringupError, raise_all
from inventory.nearest import did_you_mean
from inventory.schema import GroupEntry, HostEntry, Inventory, InventoryFile, Settings, make_host
from inventory.select import Listed, select

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from inventory.document import Document

OWN = ("address", "fabric_address")
"""Settings that no two hosts can share."""


def build(document: Document, source: Path | None) -> Inventory:
    """Read a whole inventory; raises `BadInput` or `Several` with file:line:col."""
    file = document.validate(InventoryFile)
    reader = _Reader(document, {name: entry or GroupEntry() for name, entry in (file.groups or {}).items()})
    reader.read_hosts(file.hosts or {})
    reader.read_groups()
    raise_all(reader.errors)
    return replace(reader.inventory(file.defaults or Settings(), source), hooks=file.hooks or {})


@dataclass(slots=True)
class _Reader:
    document: Document
    entries: dict[str, GroupEntry]
    hosts: dict[str, HostEntry] = field(default_factory=dict)
    own: dict[str, tuple[str, ...]] = field(default_factory=dict)
    errors: list[BringupError] = field(default_factory=list)

    def read_hosts(self, written: dict[str, HostEntry | None]) -> None:
        origin: dict[str, str] = {}
        for pattern, entry in written.items():
            for name in self._expand(pattern, entry or HostEntry()):
                if name in origin:
                    self._host_error(pattern, f"{name} is listed twice", f"also in {origin[name]}", "every host once")
                origin[name] = pattern
                self.hosts[name] = entry or HostEntry()

    def _expand(self, pattern: str, entry: HostEntry) -> tuple[str, ...]:
        try:
            found = tuple(names.host_name(name) for name in ranges.expand(pattern))
        except ValueError as error:
            self._host_error(pattern, f"{pattern!a} cannot name hosts", pattern, str(error))
            return ()
        shared = [key for key in OWN if getattr(entry, key)]
        if len(found) > 1 and shared:
            self._host_error(
                pattern, f"{len(found)} hosts cannot share one {shared[0]}", pattern, "an entry for each host"
            )
        return found

    def _host_error(self, pattern: str, message: str, observed: str, required: str) -> None:
        place = ("hosts", pattern)
        self.errors.append(self.document.error(place, message, observed=observed, required=required, key=True))

    def read_groups(self) -> None:
        for group, entry in self.entries.items():
            self.own[group] = self._own_hosts(group, entry)
            for index, child in enumerate(entry.children):
                if child not in self.entries:
                    self._group_error(
                        ("groups", group, "children", index),
                        f"there is no group {child}{did_you_mean(child, self.entries)}",
                        child,
                        "a group of this file",
                    )
        if not self.errors and (round_trip := grouping.circle(self._children())):
            self._group_error(
                ("groups", round_trip[0]), "a group contains itself", " > ".join(round_trip), "no group inside itself"
            )

    def _own_hosts(self, group: str, entry: GroupEntry) -> tuple[str, ...]:
        text = entry.hosts if isinstance(entry.hosts, str) else ",".join(entry.hosts)
        if not text:
            return ()
        try:
            return select(text, Listed(self.hosts, {}))
        except BringupError as error:
            for one in getattr(error, "errors", (error,)):
                self._group_error(("groups", group, "hosts"), one.message, one.observed, one.required)
            return ()

    def _group_error(self, place: tuple[str | int, ...], message: str, observed: str, required: str) -> None:
        self.errors.append(self.document.error(place, message, observed=observed, required=required))

    def _children(self) -> dict[str, tuple[str, ...]]:
        return {group: entry.children for group, entry in self.entries.items()}

    def inventory(self, defaults: Settings, source: Path | None) -> Inventory:
        children = self._children()
        groups = grouping.members(children, self.own)
        depths = grouping.depths(children)
        outer_first = sorted(groups, key=depths.__getitem__)  # stable: else in the order of the file
        speaking = {name: [group for group in outer_first if name in groups[group]] for name in self.hosts}
        hosts = {
            name: make_host(name, defaults, *(self.entries[group].vars for group in speaking[name]), entry)
            for name, entry in self.hosts.items()
        }
        return Inventory(hosts, groups, defaults, source, tuple(self._warnings(speaking)))

    def _warnings(self, speaking: dict[str, list[str]]) -> Iterator[str]:
        around = grouping.above(self._children())
        found: dict[tuple[str, str, str], list[str]] = {}
        for name, groups in speaking.items():
            said = ((group, _said(self.entries[group].vars)) for group in groups)
            for clash in grouping.contradictions(said, around):
                if clash[0] not in _said(self.hosts[name]):
                    found.setdefault(clash, []).append(name)
        for (setting, group, later), names_ in found.items():
            yield (
                f"{self.document.name}: groups {group} and {later} say different things of {setting} for "
                f"{', '.join(names_[:3])}{' and others' if len(names_) > 3 else ''}; {later} counts"
            )


def _said(settings: Settings) -> dict[str, object]:
    """What an entry says, `env` and `mirrors` key by key, because they are merged key by key."""
    found = {key: getattr(settings, key) for key in settings.model_fields_set - {"env", "mirrors"}}
    found |= {f"env.{key}": value for key, value in settings.env.items()}
    return found | {f"mirrors.{key}": value for key, value in settings.mirrors if value is not None}
