# ruff: noqa: INP001  (sent as text)
"""Which safetensors files are shorter or longer than their own header says, and which shards of an index are not there.

Prints a line "damaged PATH: WHAT" for each, and "checked N" at the end. Runs on hosts, in any Python from 3.7 on.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path

MOST = 100_000_000  # bytes of a header, as the format allows


def fault(path: Path) -> str | None:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            return f"{size} bytes, which is less than any header"
        length = struct.unpack("<Q", start)[0]
        if length > MOST or 8 + length > size:
            return f"{size} bytes, and its header alone should be {length + 8}"
        header = json.loads(file.read(length))
    ends = [value["data_offsets"][1] for key, value in header.items() if key != "__metadata__"]
    wanted = 8 + length + max(ends or [0])
    return None if size == wanted else f"{size} bytes, and its header tells of {wanted}"


def missing(path: Path) -> str | None:
    named = set(json.loads(path.read_bytes())["weight_map"].values())
    gone = sorted(name for name in named if not (path.parent / name).exists())
    return f"{gone[0]} is not there, and {len(gone) - 1} more" if gone else None


def said_of(path: Path) -> str | None:
    try:
        return fault(path) if path.suffix == ".safetensors" else missing(path)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return f"cannot be read: {str(error)[:80]}"


def main() -> None:
    checked = 0
    for folder, folders, names in os.walk(sys.argv[1], followlinks=True):
        folders[:] = [name for name in folders if name != ".cache"]
        for name in sorted(names):
            if name.endswith((".safetensors", ".safetensors.index.json")):
                checked += 1
                what = said_of(Path(folder, name))
                sys.stdout.write(f"damaged {folder}/{name}: {what}\n" if what else "")
                sys.stdout.flush()
    sys.stdout.write(f"checked {checked}\n")


main()
