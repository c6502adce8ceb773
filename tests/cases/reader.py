"""The shape of what reads a case's files: through the product's own parsers, never a parser of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from inventory.facts.host import HostFacts

OF_ALL_HOSTS = ("offsets.tsv", "events.txt", "ssh-add*", "ssh_config", "bastion_sshd*")
"""Files of the case that tell of each host; any other that lies beside the hosts' folders is the control machine's."""


@dataclass(frozen=True, slots=True)
class Files:
    """What a case has for one host: its own files, the case's, what the plan says of it and the plan."""

    host: str
    own: Mapping[str, str]
    shared: Mapping[str, str]
    planned: Mapping[str, Any]
    plan: Mapping[str, Any]

    def texts(self, *patterns: str) -> tuple[str, ...]:
        """The host's own files whose names fit one of the patterns, in the order of the patterns."""
        return tuple(text for one in patterns for name, text in self.own.items() if fnmatch(name, one))


@dataclass(frozen=True, slots=True)
class Reader:
    """`read(files, facts so far)` gives the fields of `HostFacts` that the files named `names` (patterns) tell."""

    names: tuple[str, ...]
    read: Callable[[Files, HostFacts], Mapping[str, Any]]

    def applies(self, given: Files) -> bool:
        of_all = (name for name in given.shared if any(fnmatch(name, one) for one in OF_ALL_HOSTS))
        return any(self.is_named(name) for name in (*given.own, *of_all))

    def is_named(self, name: str) -> bool:
        return any(fnmatch(name, one) for one in self.names)
