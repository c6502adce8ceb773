"""What ranks have compiled and tuned on a host, and what it was made with."""

from __future__ import annotations

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import CacheFolder, Caches
from inventory.facts.jsontext import parse_object

FIELDS = ("vllm", "torch", "flashinfer", "triton", "architecture", "home", "user", "path")


def read_caches(answers: Answers) -> Maybe[Caches]:
    folder = answers.item("caches.folder")
    if isinstance(folder, Unknown):
        return folder
    if folder.missing_file:
        return Caches(empty=True, artefacts=(), stamp=None)
    found = answers.item("caches.artefacts")
    if isinstance(found, Unknown):
        return found
    if folder.status or found.status:
        return (folder if folder.status else found).reason
    stamp = answers.text("caches.stamp")
    told = "" if isinstance(stamp, Unknown) else stamp
    return Caches(
        empty="any " not in found.text,
        artefacts=parse_found(found.text),
        stamp=parse_stamp(told),
        environment=parse_environment(told),
        folders=read_folders(answers),
    )


def read_folders(answers: Answers) -> tuple[CacheFolder, ...]:
    """One for each stamp that could be read."""
    found = []
    for path, item in answers.pages("caches.stamps"):
        stamp = parse_stamp(item.text) if item.status == 0 else None
        if stamp is not None:
            found.append(CacheFolder(path, stamp, parse_environment(item.text)))
    return tuple(found)


def parse_found(text: str) -> tuple[str, ...]:
    """Paths as `find` prints them, without a leading `./`."""
    paths = (line.strip().removeprefix("./") for line in text.splitlines() if not line.startswith("any "))
    return tuple(sorted(path for path in paths if path))


def parse_stamp(text: str) -> tuple[tuple[str, str], ...] | None:
    told = parse_object(text)
    if told is None:
        return None
    return tuple((name, value) for name in FIELDS if (value := told.text(name)))


def parse_environment(text: str) -> tuple[tuple[str, str], ...] | None:
    told = parse_object(text)
    if told is None or "environment" not in told.members:
        return None
    return tuple(sorted((name, str(value)) for name, value in told.object("environment").members.items()))
