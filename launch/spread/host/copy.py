"""One host's copy of one file: how much of it is known to be right, and the sums that prove it."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from pathlib import Path
from typing import NamedTuple

from launch.spread.host.wire import PIECE


class Stamp(NamedTuple):
    """Of a file that nobody has written to since."""

    size: int
    changed_ns: int
    inode: int


class Copy:
    """`sums[k]` is the SHA-256 of the file's beginning up to the end of piece k: pieces are known in this order."""

    def __init__(self, index: int, path: str, size: int, sha256: str) -> None:
        self.index, self.path, self.size, self.sha256 = index, path, size, bytes.fromhex(sha256)
        self._piece = PIECE
        self.pieces = -(-size // PIECE)
        self.sums: list[bytes] = []
        self.done = False
        self.mismatches = 0  # times that it came whole and was not the file of the manifest
        self.bad_here = False  # it lay here whole and had another sum
        self.doubted = False  # somebody was given other bytes than the sums say: it is read again before it is lent
        self.stamp: Stamp | None = None
        self._changed = threading.Condition()

    @property
    def verified(self) -> int:
        """Bytes of it that are known to be right, from its beginning on."""
        return min(len(self.sums) * self._piece, self.size)

    def span(self, piece: int) -> tuple[int, int]:
        """Where a piece begins, and its length."""
        return piece * self._piece, min(self._piece, self.size - piece * self._piece)

    def sum_of(self, piece: int, wait_s: float) -> bytes | None:
        """The sum up to the end of `piece`, when it is known within `wait_s`."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.sums) > piece, wait_s)
            return self.sums[piece] if len(self.sums) > piece else None

    def add(self, *sums: bytes) -> None:
        with self._changed:
            self.sums += sums
            self._changed.notify_all()

    def forget(self) -> None:
        """Nothing of it is known to be right any more."""
        with self._changed:
            self.sums, self.done, self.stamp = [], False, None


class Folder:
    """Where the files lie. A path in it never leads out of it: what is in the way is replaced."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)

    def path(self, copy: Copy) -> Path:
        return self.root / copy.path

    def stamp(self, copy: Copy) -> Stamp | None:
        """What tells whether the file was touched since; None where there is no file."""
        try:
            found = self.path(copy).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Stamp(found.st_size, found.st_mtime_ns, found.st_ino) if stat.S_ISREG(found.st_mode) else None

    @staticmethod
    def stamp_of(file: int) -> Stamp:
        """The same of an open file."""
        found = os.fstat(file)
        return Stamp(found.st_size, found.st_mtime_ns, found.st_ino)

    def reader(self, copy: Copy) -> int:
        return os.open(self.path(copy), os.O_RDONLY)

    def writer(self, copy: Copy) -> int:
        """Open for writing and reading; bytes beyond the file's end are cut off."""
        self._make_way(copy)
        file = os.open(self.path(copy), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        if os.fstat(file).st_size > copy.size:
            os.ftruncate(file, copy.size)
        return file

    def _make_way(self, copy: Copy) -> None:
        place = self.root
        *folders, _ = copy.path.split("/")
        for name in folders:
            place /= name
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                place.unlink()
            with contextlib.suppress(FileExistsError):
                place.mkdir(0o755)
        if self.path(copy).is_symlink():
            self.path(copy).unlink()
