"""What is known of a deployment that does not serve, as it was collected: texts by host, and checks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from launch.diagnosis.lines import Line

if TYPE_CHECKING:
    from playbooks.finding import Finding


class Kind(StrEnum):
    LOG = "log"
    KERNEL = "kernel"
    OUTPUT = "output"  # of a command that somebody typed: how it is now


@dataclass(frozen=True, slots=True)
class Source:
    """One text. `host` is empty for one that is not of a host. `name`: the file, below the folder of the capture."""

    host: str
    name: str
    kind: Kind
    lines: tuple[Line, ...]
    cut: bool = False  # the beginning or the middle is missing


@dataclass(frozen=True, slots=True)
class Capture:
    """`outputs`: short texts by host and file. `addresses`: of hosts, where an inventory or plan tells them.

    `plan`: what is known of it, as plain data. `began_at`: when the attempt began. `not_checked`: what the collection
    could not get, in sentences.
    """

    hosts: tuple[str, ...]
    sources: tuple[Source, ...]
    outputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)
    plan: Mapping[str, object] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    unanswered: Mapping[str, str] = field(default_factory=dict)
    began_at: float | None = None
    at: float | None = None  # when it was collected
    not_checked: tuple[str, ...] = ()
    compared: bool = True  # the clocks of its hosts
    name: str = ""  # of the deployment
    model: str = ""

    def texts(self, host: str, *patterns: str) -> Iterator[str]:
        """The short texts of a host whose file names fit a pattern."""
        for name, text in sorted(self.outputs.get(host, {}).items()):
            if any(fnmatch(name.rpartition("/")[2], one) for one in patterns):
                yield text

    def owner_of(self, address: str) -> str:
        """The host that has this address, or nothing."""
        return next((host for host, own in self.addresses.items() if own == address), "")
