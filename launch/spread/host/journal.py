"""Files that were read and had their sums, so that a process that is started again reads only what it must.

A note counts as long as the file was not touched and the host was not restarted: what a power cut leaves of a file may
have its size and time, and not its bytes.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from launch.spread.host.copy import Copy, Folder


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


class Journal:
    def __init__(self, place: Path) -> None:
        self._place = place
        self._boot = boot_id()
        place.mkdir(0o700, exist_ok=True)

    def note(self, copy: Copy) -> None:
        told = {"boot": self._boot, "stamp": copy.stamp, "sums": b"".join(copy.sums).hex()}
        write_whole(self._path(copy), json.dumps(told))

    def recall(self, copy: Copy, folder: Folder) -> bool:
        """Whether the copy is whole by an earlier note; its sums are then known again."""
        told = self._read(copy)
        stamp = folder.stamp(copy)
        if told is None or stamp is None or told.get("boot") != self._boot or told.get("stamp") != list(stamp):
            return False
        try:
            sums = bytes.fromhex(told["sums"])
        except (KeyError, TypeError, ValueError):
            return False
        if len(sums) != 32 * copy.pieces or (sums and sums[-32:] != copy.sha256):
            return False
        copy.stamp = stamp
        copy.add(*(sums[at : at + 32] for at in range(0, len(sums), 32)))
        return True

    def forget(self, copy: Copy) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path(copy).unlink()

    def _read(self, copy: Copy) -> dict[str, Any] | None:
        try:
            told = json.loads(self._path(copy).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        return told if isinstance(told, dict) else None

    def _path(self, copy: Copy) -> Path:
        return self._place / str(copy.index)


def write_whole(path: Path, text: str) -> None:
    """Write a file by rename: a reader sees the old one or all of the new one."""
    half = path.with_name(path.name + ".new")
    half.write_text(text, encoding="utf-8")
    half.replace(path)
