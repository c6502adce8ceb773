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
        kv_memory=read_memory(answers),
    )


def read_memory(answers: Answers) -> tuple[tuple[str, str, int, int, int], ...]:
    """Lines of JSON; what is none, or lacks a number, is left out: the next start measures again."""
    text = answers.text("caches.memory")
    found = []
    for line in () if isinstance(text, Unknown) else text.splitlines():
        told = parse_object(line)
        if told is None or not (told.text("key") and told.text("gpu")):
            continue
        size, free, workers = (told.number(name) for name in ("bytes", "free_bytes", "workers"))
        if size and free and workers:
            found.append((told.text("key"), told.text("gpu"), int(size), int(free), int(workers)))
    return tuple(found)


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
