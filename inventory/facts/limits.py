"""What the kernel lets a process of our login have, and its huge pages: /proc/self/limits and /proc/meminfo."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import HugePagePool, HugePages, Limit, Limits

LIMIT = re.compile(r"(?m)^Max ([a-z ]+?)\s{2,}(unlimited|\d{1,20})\s+(unlimited|\d{1,20})(?:\s|$)")
POOL = re.compile(r"(?m)^\s*(HugePages_Total|HugePages_Free|Hugepagesize):\s+(\d{1,15})(?: kB)?\s*$")
OF_SIZE = re.compile(r"/hugepages-(\d{1,12})kB/(nr|free)_hugepages:(\d{1,15})")
MODE = re.compile(r"\[(\w+)\]")


def read_limits(answers: Answers) -> Maybe[Limits]:
    text = answers.text("system.limits")
    return text if isinstance(text, Unknown) else parse_limits(text)


def parse_limits(text: str) -> Maybe[Limits]:
    """From /proc/PID/limits."""
    found = {name: Limit(number(soft), number(hard)) for name, soft, hard in LIMIT.findall(text)}
    wanted = ("locked memory", "open files", "processes", "core file size")
    missing = [name for name in wanted if name not in found]
    if missing:
        return Unknown(Why.UNREADABLE, f"/proc/self/limits without {', '.join(missing)}")
    memory, files, processes, core = (found[name] for name in wanted)
    return Limits(locked_memory=memory, open_files=files, processes=processes, core_file=core)


def number(text: str) -> int | None:
    return None if text == "unlimited" else int(text)


def read_huge_pages(answers: Answers) -> Maybe[HugePages]:
    """A kernel that was built without huge pages has none: that is an answer."""
    text = answers.text("processor.memory")
    if isinstance(text, Unknown):
        return text
    found = {name: int(value) for name, value in POOL.findall(text)}
    total = found.get("HugePages_Total", 0)
    if total and not {"HugePages_Free", "Hugepagesize"} <= found.keys():
        return Unknown(Why.UNREADABLE, "/proc/meminfo tells huge pages, but not all of them")
    size = found.get("Hugepagesize", 0) * 1024
    return HugePages(
        total=total,
        free=found.get("HugePages_Free", 0),
        size_bytes=size,
        transparent=transparent_mode(answers.item("processor.transparent-huge-pages")),
        others=tuple(one for one in pools(answers.text("processor.huge-pages")) if one.size_bytes != size),
    )


def pools(text: Maybe[str]) -> tuple[HugePagePool, ...]:
    """Those with pages, by size, from `path:line` of the files below /sys/kernel/mm/hugepages."""
    counts: dict[int, dict[str, int]] = {}
    for kib, kind, count in OF_SIZE.findall("" if isinstance(text, Unknown) else text):
        counts.setdefault(int(kib), {})[kind] = int(count)
    return tuple(
        HugePagePool(kib * 1024, found["nr"], found.get("free", 0))
        for kib, found in sorted(counts.items())
        if found.get("nr")
    )


def transparent_mode(item: Maybe[Item]) -> str | None:
    """`madvise` of `always [madvise] never`."""
    match = None if isinstance(item, Unknown) else MODE.search(item.text)
    return match[1] if match else None
