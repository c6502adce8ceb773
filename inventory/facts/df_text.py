"""`df` as people run it: `-B1`, `-k`, `-h` or plain, and with `-i`. On a host `df -P -k` is asked for."""

from __future__ import annotations

import re

from inventory.facts.host import FileSystem

ROW = re.compile(
    r"(?m)^(\S+)\s+(?:([a-z][a-z0-9.]*)\s+)?([\d.]+[KMGTP]?i?)\s+([\d.]+[KMGTP]?i?)\s+([\d.]+[KMGTP]?i?)"
    r"\s+(?:\d{1,3}%|-)\s+(/.*?)\s*$"
)
SHORT = re.compile(r"(?m)^(/\S*)\s+(\d{1,19})\s*$")
SUFFIX = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
BLOCKS = re.compile(r"\b(\d+)([KMG]?)B?-(?:blocks|Blöcke)|\b(Size)\b")


def parse_df(text: str, inodes: str = "") -> tuple[FileSystem, ...]:
    """One for each row. `inodes`: what `df -i` said; also lines `MOUNT FREE-BYTES`."""
    unit = unit_of(text)
    free = {mount: number(available, 1) for *_, available, mount in ROW.findall(inodes)}
    found = {
        mount: FileSystem(
            mount, mount, kind, number(size, unit), number(available, unit), free.get(mount), writable=True
        )
        for _, kind, size, _, available, mount in ROW.findall(text)
    }
    found |= {
        mount: FileSystem(mount, mount, "", int(size), int(size), free.get(mount), writable=True)
        for mount, size in SHORT.findall(text)
    }
    return tuple(found.values())


def parse_inodes(text: str) -> dict[str, float]:
    """The share of inodes that are free, by mount, of `df -i`."""
    rows = ((mount, number(size, 1), number(available, 1)) for _, _, size, _, available, mount in ROW.findall(text))
    return {mount: available / size for mount, size, available in rows if size}


def unit_of(text: str) -> int:
    """Bytes of one block, by the header: 1024 where it says nothing."""
    found = BLOCKS.search(text)
    if found is None:
        return 1024
    return 1 if found[3] else int(found[1]) * 1024 ** SUFFIX[found[2]]


def number(text: str, unit: int) -> int:
    """`1.5T` as bytes; a bare number counts in `unit`."""
    found = re.fullmatch(r"([\d.]+)([KMGTP]?)i?", text)
    if found is None:
        return 0
    return int(float(found[1]) * 1024 ** SUFFIX[found[2]]) if found[2] else int(float(found[1]) * unit)
