"""File systems below the paths that matter, from `df` and /proc/self/mountinfo."""

from __future__ import annotations

import re
from dataclasses import dataclass

from inventory.facts.answers import Answers, Item, keyed
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import FileSystem, Mount
from inventory.facts.jsontext import Fields, parse_object

ROW = re.compile(r"(?m)^.*\s(\d{1,18}|-)\s+(\d{1,18}|-)\s+(\d{1,18}|-)\s+(?:\d{1,3}%|-)\s+(/.*)$")

PSEUDO = (
    *("proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "securityfs", "pstore", "bpf"),
    *("configfs", "fusectl", "hugetlbfs", "autofs", "binfmt_misc", "nsfs", "efivarfs", "rpc_pipefs", "nfsd"),
    "squashfs",
)
TREE = re.compile(r"^[\s│├└─|`-]+(?=/)")  # what findmnt draws before a mount
NOT_STORAGE = re.compile(
    r"/(?:var/lib/(?:docker|containerd|kubelet|containers)|run/(?:docker|containerd|user|netns)|sys|proc)/.+"
    r"|/run/netns|/dev(?!/shm$)(?:/.*)?"
)


def read_file_systems(answers: Answers) -> Maybe[tuple[FileSystem, ...]]:
    """One for each path that answered; a path on a dead server is left out (see `HostFacts.file_system`)."""
    mounts = answers.text("disks.mounts")
    types = {} if isinstance(mounts, Unknown) else mount_types(mounts)
    pages = (*answers.pages("disks.path"), *docker_root(answers))
    found = tuple(one for asked, item in pages if (one := file_system(asked, item, types)))
    if found:
        return found
    if pages:
        return Unknown(Why.UNREADABLE, pages[0][1].complaint)
    asked = answers.text("disks.asked")
    return asked if isinstance(asked, Unknown) else answers.silence("disks")


def docker_root(answers: Answers) -> tuple[tuple[str, Item], ...]:
    """What docker's images lie on is asked for by docker's own word."""
    item = answers.item("docker.root")
    return () if isinstance(item, Unknown) or item.status else (keyed(item),)


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
    return {mount.point: mount.type for mount in parse_mountinfo(mountinfo)}


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """/proc/PID/mountinfo, in its order: the fields before ` - ` vary in number."""
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        words, end = before.split(), after.split()
        if len(words) > 5 and len(end) > 1:
            options = dict.fromkeys([*words[5].split(","), *(end[2].split(",") if len(end) > 2 else ())])
            mounts.append(Mount(unescape(words[4]), end[0], unescape(end[1]), tuple(options)))
    return tuple(mounts)


def read_mounts(answers: Answers) -> Maybe[tuple[Mount, ...]]:
    text = answers.text("disks.mounts")
    if isinstance(text, Unknown):
        return text
    return tuple(
        one for one in parse_mountinfo(text) if one.type not in PSEUDO and not NOT_STORAGE.fullmatch(one.point)
    )


MOUNT_LINE = re.compile(r"^(\S+) on (/\S*) type (\S+) \(([^)]*)\)$")
"""As `mount` prints it."""


def parse_mount_table(text: str) -> tuple[Mount, ...]:
    """Lines of `findmnt` (its own table, or `-o TARGET,FSTYPE,SOURCE|OPTIONS`), of `mount` or /proc/mounts."""
    rows = [TREE.sub("", MOUNT_LINE.sub(r"\1 \2 \3 \4", line)).split() for line in text.splitlines()]
    headed = any(row[:3] == ["TARGET", "SOURCE", "FSTYPE"] for row in rows)
    found = (mount_of([unescape(word) for word in row], headed=headed) for row in rows if len(row) > 2)
    return tuple(one for one in found if one)


def mount_of(row: list[str], *, headed: bool) -> Mount | None:
    """Which of three orders a row has, its paths tell; `headed`: the table said so."""
    first, second, third, *rest = row
    options = tuple(rest[0].split(",")) if rest else ()
    if not rest and first.startswith("/") and re.match(r"r[wo](?:,|$)", third):  # `-o TARGET,FSTYPE,OPTIONS`
        return Mount(first, second, "", tuple(third.split(",")))
    if second.startswith("/") and (first.startswith("/dev/") or not first.startswith("/")):
        return Mount(second, third, first, options)
    if not first.startswith("/"):
        return None
    if headed or not re.fullmatch(r"[a-z][a-z0-9_.]*", second):
        return Mount(first, third, second, options)
    return Mount(first, second, third, options)


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
