from __future__ import annotations

import json

import pytest

from inventory.facts.base import Unknown
from inventory.facts.blocks import disks, parse_lsblk, read_blocks, size_bytes
from inventory.facts.disks import FoundMount, parse_findmnt
from inventory.facts.host import Block
from tests.answered import answers

TREE = json.dumps(
    {
        "blockdevices": [
            {"name": "loop0", "type": "loop", "size": 67051520, "rota": False, "fstype": "squashfs"},
            {
                "name": "nvme0n1",
                "type": "disk",
                "size": "1.7T",
                "rota": "0",
                "children": [{"name": "nvme0n1p1", "type": "part", "size": 512, "rota": True, "fstype": "ext4"}],
            },
        ]
    }
)


def block(name: str, kind: str, size: int | str, turns: str, file_system: str | None = None, depth: int = 0) -> Block:
    return Block(name, kind, size, turns == "spins", file_system, depth)


def test_a_tree() -> None:
    blocks = parse_lsblk(TREE)
    assert blocks == (
        block("loop0", "loop", 67051520, "ssd", "squashfs"),
        block("nvme0n1", "disk", "1.7T", "ssd"),
        block("nvme0n1p1", "part", 512, "spins", "ext4", 1),
    )
    assert disks(blocks) == (blocks[1],)


def test_pairs_of_old_versions() -> None:
    text = (
        'NAME="sda" TYPE="disk" SIZE="959656755200" ROTA="1" FSTYPE="" PKNAME=""\n'
        'NAME="sda1" TYPE="part" SIZE="209715200" ROTA="1" FSTYPE="vfat" PKNAME="sda"\n'
    )
    assert parse_lsblk(text) == (
        block("sda", "disk", 959656755200, "spins"),
        block("sda1", "part", 209715200, "spins", "vfat", 1),
    )


@pytest.mark.parametrize(
    ("size", "expected"), [(512, 512), ("1.5K", 1536), ("2T", 2 << 40), ("0B", 0), ("", None), ("huge", None)]
)
def test_sizes(size: int | str, expected: int | None) -> None:
    assert size_bytes(Block("x", "disk", size, None, None, 0)) == expected


def test_no_devices_is_an_answer_and_no_tool_is_none() -> None:
    assert read_blocks(answers({"disks.blocks": ""})) == ()
    assert isinstance(read_blocks(answers({"disks.blocks": (127, "lsblk: not found")})), Unknown)


def test_findmnt() -> None:
    text = '{"filesystems": [{"target": "/", "source": "/dev/a[/sub]", "fstype": "ext4", "size": "1T", "use%": "4%"}]}'
    assert parse_findmnt(text) == (FoundMount("/", "/dev/a[/sub]", "ext4", "1T", "", "", "4%"),)
