"""Sets of CPUs or nodes as the kernel writes them: lists `0-3,8,10-62:2` and hexadecimal masks `ff,00000003`."""

from __future__ import annotations

import re

RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?(?::(\d{1,6}))?", re.ASCII)
LARGEST = 1 << 16
"""No kernel numbers more CPUs; a larger number in an answer is garbage."""


def parse_list(text: str) -> tuple[int, ...]:
    """`"0-3,8"` → (0, 1, 2, 3, 8), sorted, none twice; an empty text is the empty set.

    `0-62:2` is a stride. Raises `ValueError` for anything else.
    """
    members: set[int] = set()
    for part in text.replace("\0", "").strip().split(","):
        members.update(parse_range(part.strip()) if part.strip() else ())
    return tuple(sorted(members))


def parse_range(text: str) -> range:
    match = RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"not a list of CPUs: {text[:40]!r}")
    first = int(match[1])
    last = int(match[2] or first)
    stride = int(match[3] or 1)
    if not first <= last < LARGEST or stride < 1:
        raise ValueError(f"not a range of CPUs: {text[:40]!r}")
    return range(first, last + 1, stride)


def parse_mask(text: str) -> tuple[int, ...]:
    """`"00000000,0000000f"` → (0, 1, 2, 3): 32-bit words, the highest first. Raises `ValueError`."""
    words = text.replace("\0", "").strip().split(",")
    digits = words[0] + "".join(word.zfill(8) for word in words[1:])
    if len(digits) > LARGEST // 4:
        raise ValueError("a mask of more CPUs than any kernel numbers")
    bits = int(digits, 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def format_list(members: tuple[int, ...]) -> str:
    """(0, 1, 2, 3, 8) → `"0-3,8"`."""
    runs: list[list[int]] = []
    for member in sorted(members):
        if runs and runs[-1][1] == member - 1:
            runs[-1][1] = member
        else:
            runs.append([member, member])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def run_lengths(text: str) -> tuple[int, ...]:
    """How many CPUs each part of a list holds: `"0-47,96-143"` → (48, 48); empty for what is no list."""
    try:
        return tuple(len(parse_range(part)) for part in text.split(","))
    except ValueError:
        return ()
