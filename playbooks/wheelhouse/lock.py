"""The pins of a lock: requirements in pip's format, each with an exact version and the sha256 of its files. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playbooks.wheelhouse.target import Target, holds, normal

_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>.*))?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """One distribution at one version; `hashes` empty: nobody knows its files, because they come from another index."""

    name: str
    version: str
    marker: str = ""
    hashes: frozenset[str] = frozenset()

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"


def read_pins(lock: str, target: Target) -> tuple[Pin, ...]:
    """The pins that hold on `target`. Raises `ValueError` for a line that is no exact pin: nothing is left out."""
    logical = re.sub(r"\\\s*\n", " ", lock)
    lines = [line.strip() for line in logical.splitlines() if line.strip() and not line.strip().startswith("#")]
    return tuple(pin for pin in map(_pin, lines) if not pin.marker or holds(pin.marker, target))


def _pin(line: str) -> Pin:
    requirement, *_ = line.partition("--hash=")
    found = _PIN.fullmatch(requirement.strip())
    if found is None:
        raise ValueError(f"not an exact requirement: {line[:80]}")
    return Pin(normal(found["name"]), found["version"], (found["marker"] or "").strip(), frozenset(_HASH.findall(line)))
