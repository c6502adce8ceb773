"""File systems below the paths that matter, from `df` and /proc/self/mountinfo."""

from __future__ import annotations

import re
from dataclasses import dataclass

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import FileSystem
from inventory.facts.jsontext import Fields, parse_object

ROW = re.compile(r"(?m)^.*\s(\d{1,18}|-)\s+(\d{1,18}|-)\s+(\d{1,18}|-)\s+(?:\d{1,3}%|-)\s+(/.*)$")


def read_file_systems(answers: Answers) -> Maybe[tuple[FileSystem, ...]]:
    """One for each path that answered; a path on a dead server is left out (see `HostFacts.file_system`)."""
    mounts = answers.text("disks.mounts")
    types = {} if isinstance(mounts, Unknown) else mount_types(mounts)
    pages = answers.pages("disks.path")
    found = tuple(one for asked, item in pages if (one := file_system(asked, item, types)))
    if found:
        return found
    if pages:
        return Unknown(Why.UNREADABLE, pages[0][1].complaint)
    asked = answers.text("disks.asked")
    return asked if isinstance(asked, Unknown) else answers.silence("disks")


def file_system(asked: str, item: Item, types: dict[str, str]) -> FileSystem | None:
    """`item`: the existing path, `yes` or `no` for writable, `df -P -k` and, where df can, `df -P -i`."""
    _, _, rest = item.text.partition("\n")
    writable, _, tables = rest.partition("\n")
    rows = ROW.findall(tables)
    if not rows or "-" in rows[0][:3]:
        return None
    total, _, available, mount = rows[0]
    inodes = rows[1][2] if len(rows) > 1 else "-"
    return FileSystem(
        asked=asked,
        mount=mount,
        type=types.get(mount, ""),
        total_bytes=int(total) * 1024,
        free_bytes=int(available) * 1024,
        # btrfs and some network file systems have no inodes to run out of: df says 0 of 0.
        free_inodes=None if inodes == "-" or rows[1][0] in {"0", "-"} else int(inodes),
        writable=writable == "yes",
    )


@dataclass(frozen=True, slots=True)
class Mount:
    point: str
    type: str
    source: str


def mount_types(mountinfo: str) -> dict[str, str]:
    """File system type by mount point; a later mount hides an earlier one."""
    return {mount.point: mount.type for mount in parse_mountinfo(mountinfo)}


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """/proc/PID/mountinfo, in its order: the fields before ` - ` vary in number."""
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        words, end = before.split(), after.split()
        if len(words) > 4 and len(end) > 1:
            mounts.append(Mount(unescape(words[4]), end[0], unescape(end[1])))
    return tuple(mounts)


@dataclass(frozen=True, slots=True)
class FoundMount:
    """A line of `findmnt -J`: sizes as rounded texts; `source` may name a folder of its file system in brackets."""

    target: str
    source: str
    type: str
    size: str
    used: str
    available: str
    used_share: str


def parse_findmnt(text: str) -> tuple[FoundMount, ...]:
    answer = parse_object(text) or Fields({})
    keys = ("target", "source", "fstype", "size", "used", "avail", "use%")
    return tuple(FoundMount(*(one.text(key) for key in keys)) for one in answer.objects("filesystems"))


def unescape(text: str) -> str:
    r"""Blanks, tabs, newlines and backslashes in mountinfo are octal: `\040`."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match[1], 8)), text)
