"""File systems below the paths that matter, from `df` and /proc/self/mountinfo."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import FileSystem

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


def mount_types(mountinfo: str) -> dict[str, str]:
    """File system type by mount point; a later mount hides an earlier one."""
    types = {}
    for line in mountinfo.splitlines():
        mount, _, source = line.partition(" - ")
        words = mount.split()
        if len(words) > 4 and source:
            types[unescape(words[4])] = source.split()[0]
    return types


def unescape(text: str) -> str:
    r"""Blanks, tabs, newlines and backslashes in mountinfo are octal: `\040`."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match[1], 8)), text)
