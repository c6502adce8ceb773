"""The words of a `docker run`, taken apart. Shared by checks; not a check itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath


def values(arguments: Sequence[str], *names: str) -> tuple[str, ...]:
    """Every value of an option, written `--name value` or `--name=value`."""
    found = []
    for at, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if word in names and at + 1 < len(arguments):
            found.append(arguments[at + 1])
        elif equals and name in names:
            found.append(value)
    return tuple(found)


def has(arguments: Sequence[str], name: str) -> bool:
    """Whether a switch is on: `--privileged`, `--privileged=true`."""
    return name in arguments or f"{name}=true" in arguments


def mounted(arguments: Sequence[str]) -> tuple[str, ...]:
    """Folders of the host that the container sees, by `-v` and `--mount`."""
    volumes = [one.partition(":")[0] for one in values(arguments, "-v", "--volume")]
    for mount in values(arguments, "--mount"):
        fields = dict(part.partition("=")[::2] for part in mount.split(","))
        volumes.append(fields.get("source") or fields.get("src") or "")
    return tuple(one for one in volumes if one.startswith("/"))


def is_below(path: str, folders: Iterable[str]) -> bool:
    return any(PurePosixPath(path).is_relative_to(folder) for folder in folders)
