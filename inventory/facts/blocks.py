"""Block devices by `lsblk`: its JSON, whose sizes are numbers or texts by version, and its `KEY="value"` pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import Block
from inventory.facts.jsontext import Fields, as_objects, parse_at

PAIR = re.compile(r'([A-Z:%-]+)="([^"]*)"')
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)(?:i?B)?")
POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def read_blocks(answers: Answers) -> Maybe[tuple[Block, ...]]:
    """Every block device of the host; a container may see none."""
    text = answers.text("disks.blocks")
    if isinstance(text, Unknown):
        return () if text.why is Why.EMPTY else text
    return parse_lsblk(text)


def size_bytes(block: Block) -> int | None:
    """Exact from a number, rounded from a text such as `1.7T`."""
    if isinstance(block.size, int):
        return block.size
    match = SIZE.fullmatch(block.size.strip())
    return int(float(match[1]) * 1024 ** POWERS[match[2]]) if match else None


def parse_lsblk(text: str) -> tuple[Block, ...]:
    """Every entry, parents before children."""
    start = text.rfind("{", 0, max(0, text.find('"blockdevices"')))
    value = parse_at(text, start)[0] if start >= 0 else None
    if isinstance(value, dict):
        return tuple(walk(as_objects(value.get("blockdevices")), 0))
    return tuple(pair_block(line) for line in text.splitlines() if PAIR.search(line))


def walk(devices: tuple[Fields, ...], depth: int) -> Iterator[Block]:
    for device in devices:
        yield json_block(device, depth)
        yield from walk(device.objects("children"), depth + 1)


def json_block(device: Fields, depth: int) -> Block:
    size = device.members.get("size")
    return Block(
        name=device.text("name"),
        type=device.text("type"),
        size=size if isinstance(size, int) and not isinstance(size, bool) else device.text("size"),
        rotational=switch(device.members.get("rota")),
        file_system=device.text("fstype") or None,
        depth=depth,
    )


def switch(value: object) -> bool | None:
    """Old versions write `"1"` for true."""
    return {True: True, False: False, "1": True, "0": False}.get(value) if isinstance(value, bool | str) else None


def pair_block(line: str) -> Block:
    pairs = dict(PAIR.findall(line))
    size = pairs.get("SIZE", "")
    return Block(
        name=pairs.get("NAME", ""),
        type=pairs.get("TYPE", ""),
        size=int(size) if size.isdecimal() else size,
        rotational=switch(pairs.get("ROTA")),
        file_system=pairs.get("FSTYPE") or None,
        depth=1 if pairs.get("PKNAME") else 0,
    )


def disks(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Whole disks: no loop devices, optical drives, partitions, RAIDs or logical volumes."""
    return tuple(block for block in blocks if block.type == "disk")
