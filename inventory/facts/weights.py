"""What lies in folders of weights: sizes, leftovers of downloads, headers that do not fit their files, and locks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import FileLock, StoredFile, WeightFolder
from inventory.facts.jsontext import parse_object

LISTED = re.compile(r"^\s*(\d{1,19})\s+(.+?)\s*$")
LONG = re.compile(r"^-\S{9,10}\s+\d+\s+\S+\s+\S+\s+(\d{1,19})\s+\S+\s+\S+\s+\S+\s+(.+?)\s*$")
LOCK = re.compile(r"^(\d{1,20}) (\d{1,12}) (\d{1,19}) (/.+)$")
HELD = re.compile(r"(?m)^\d+:\s+\S+\s+\S+\s+\S+\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)\s")
PARTIAL = (".incomplete", ".part", ".aria2", ".download")
RECORDS = (".cache/", ".bringup-")  # of the hub's client, and ours


def read_weight_folders(answers: Answers) -> Maybe[tuple[WeightFolder, ...]]:
    """One for each folder whose listing came; a listing that was cut short makes all of them unknown."""
    pages = answers.pages("weights.files")
    ended = answers.files.get("weights.end", b"").strip()
    if ended != b"0":
        return answers.silence("weights")
    kinds = {kind: dict(answers.pages(f"weights.{kind}")) for kind in ("links", "unreadable", "pointers")}
    damaged = read_headers(answers)
    manifests = dict(answers.pages("state.weights"))
    return tuple(
        WeightFolder(
            path=folder,
            files=tuple(one for one in all_files if is_content(one.path)),
            partial=tuple(one.path for one in all_files if one.path.endswith(PARTIAL)),
            unreadable=below(folder, lines(kinds["unreadable"].get(folder))),
            outside=outside(folder, lines(kinds["links"].get(folder))),
            pointers=below(folder, lines(kinds["pointers"].get(folder))),
            damaged=None if damaged is None else below(folder, damaged),
            manifest=manifest_of(manifests.get(f"{folder}/")),
            simulated=is_made_up(manifests.get(f"{folder}/")),
        )
        for folder, item in pages
        if not item.status or item.out
        for all_files in (parse_listing(item.text, folder),)
    )


def parse_listing(text: str, folder: str = "") -> tuple[StoredFile, ...]:
    """Lines `SIZE PATH` (stat, find) or of `ls -l`; paths are told below `folder`, sorted."""
    matches = (LONG.match(line) or LISTED.match(line) for line in text.splitlines())
    found = ((match[2], int(match[1])) for match in matches if match)
    return tuple(StoredFile(relative(folder, path), size) for path, size in sorted(found))


def relative(folder: str, path: str) -> str:
    return path.removeprefix(f"{folder}/") if folder else path.removeprefix("./")


def is_content(path: str) -> bool:
    return not path.startswith(RECORDS) and not path.endswith(PARTIAL)


def lines(item: Item | None) -> tuple[str, ...]:
    return () if item is None else tuple(line for line in item.text.splitlines() if line.strip())


def below(folder: str, found: Iterable[str]) -> tuple[str, ...]:
    """What is told of files of `folder`, by their paths below it; the hub's own records do not count."""
    ours = (line.removeprefix(f"{folder}/") for line in found if line.startswith(f"{folder}/"))
    return tuple(sorted(one for one in ours if not one.startswith(RECORDS)))


def outside(folder: str, links: Iterable[str]) -> tuple[str, ...]:
    pairs = (line.partition(" -> ") for line in links)
    return tuple(
        f"{relative(folder, link)} -> {target}"
        for link, _, target in pairs
        if target and not target.startswith(f"{folder}/")
    )


def read_headers(answers: Answers) -> tuple[str, ...] | None:
    """`PATH: WHAT` for each file whose header does not fit it; None: there was no Python to read them all."""
    text = answers.text("weights.headers")
    if isinstance(text, Unknown) or "checked " not in text:
        return None
    return tuple(line.removeprefix("damaged ") for line in text.splitlines() if line.startswith("damaged "))


def manifest_of(item: Item | None) -> tuple[StoredFile, ...] | None:
    told = parse_object(item.text) if item is not None and item.status == 0 else None
    if told is None:
        return None
    files = told.objects("files")
    return tuple(StoredFile(one.text("path"), one.number("size") or 0, one.text("sha256") or None) for one in files)


def is_made_up(item: Item | None) -> bool:
    told = parse_object(item.text) if item is not None else None
    return told is not None and told.flag("simulated")


def read_locks(answers: Answers) -> Maybe[tuple[FileLock, ...]]:
    item, now = answers.item("weights.locks"), answers.text("weights.now")
    if isinstance(item, Unknown):
        return item
    if item.status and not item.out:
        return item.reason
    if isinstance(now, Unknown):
        return now
    held = answers.text("weights.held")
    return parse_locks(item.text, int(now), {} if isinstance(held, Unknown) else parse_held(held))


def parse_locks(text: str, now: int, holders: Mapping[int, int]) -> tuple[FileLock, ...]:
    """Lines `INODE MODIFIED SIZE PATH`; `now` and MODIFIED in seconds since 1970."""
    matches = (LOCK.match(line) for line in text.splitlines())
    return tuple(
        FileLock(match[4], max(0, now - int(match[2])), int(match[3]), holders.get(int(match[1])))
        for match in matches
        if match
    )


def parse_held(text: str) -> dict[int, int]:
    """/proc/locks: the process that holds a lock, by inode."""
    return {int(inode): int(pid) for pid, inode in HELD.findall(text)}
