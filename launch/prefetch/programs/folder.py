"""A folder of weights: what is listed for it, and what of it was read and is right.

What has been read and had its sum is kept in `.bringup-verified.json` (size, time of change, sha256), so that nothing
is read twice. The manifest is written last, by rename.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from .ended import Ended, say

PIECE = 1 << 20
FULL = frozenset({28, 122})  # ENOSPC, EDQUOT
MANIFEST, VERIFIED, WORK = ".bringup-manifest.json", ".bringup-verified.json", ".cache/bringup"
HUB = ".cache/huggingface"
CANCEL = "cancel"
POINTER = b"version https://git-lfs"


class Folder:
    """`files`: by path, with `size` and `sha256` or `git_sha1`. `verified`: by path, size, nanoseconds, sha256."""

    def __init__(self, root: str, manifest: dict[str, Any]) -> None:
        self.root, self.manifest = Path(root), manifest
        self.files: dict[str, dict[str, Any]] = {one["path"]: one for one in manifest["files"]}
        self.work = self.root / WORK
        self.work.mkdir(parents=True, exist_ok=True)
        self.verified = self._kept()

    def _kept(self) -> dict[str, tuple[int, int, str]]:
        """What this program has read, and what the folder's own manifest lists: it was written behind all of them."""
        return {path: one for path, one in {**self._sealed(), **self._read()}.items() if path in self.files}

    def _read(self) -> dict[str, tuple[int, int, str]]:
        try:
            told = json.loads((self.root / VERIFIED).read_text(encoding="utf-8"))
            return {path: (int(a), int(b), str(c)) for path, (a, b, c) in told.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def _sealed(self) -> dict[str, tuple[int, int, str]]:
        found = {}
        try:
            for one in json.loads((self.root / MANIFEST).read_text(encoding="utf-8"))["files"]:
                told = (self.root / one["path"]).stat()
                if told.st_size == one["size"]:
                    found[one["path"]] = (told.st_size, told.st_mtime_ns, str(one["sha256"]))
        except (OSError, ValueError, KeyError, TypeError):
            pass  # what cannot be read is read anew, file by file
        return found

    def size_of(self, paths: Iterable[str]) -> int:
        return sum(self.files[path]["size"] for path in paths)

    def is_verified(self, path: str) -> bool:
        """Whether it was read, was as listed, and has not been written to since."""
        try:
            told = (self.root / path).stat()
        except OSError:
            return False
        size, changed, sha256 = self.verified.get(path, (-1, 0, ""))
        wanted = self.files[path]
        return (size, changed) == (told.st_size, told.st_mtime_ns) and size == wanted["size"] and _same(wanted, sha256)

    def trust(self, path: str) -> None:
        """Take a file as read whose like another host has read on the same disk."""
        told = (self.root / path).stat()
        if told.st_size == self.files[path]["size"]:
            self.verified[path] = (told.st_size, told.st_mtime_ns, self.files[path]["sha256"])

    def verify(self, path: str, ticks: list[int]) -> str:
        """Read the whole file; each piece's bytes are added to `ticks[0]`. Returns what is wrong, or nothing."""
        wanted, file = self.files[path], self.root / path
        try:
            before = file.stat()
            if before.st_size != wanted["size"]:
                return f"has {before.st_size} bytes, not {wanted['size']}{_if_pointer(file)}"
            sha256, blob = _sums(file, ticks)
            after = file.stat()
        except FileNotFoundError:
            return "is missing"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        known = wanted.get("sha256")
        ours, listed = (sha256, known) if known else (blob, wanted.get("git_sha1"))
        if ours != listed:
            return f"has the sum {ours[:12]}, not {str(listed)[:12]}{_if_pointer(file)}"
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            return "changed while it was read"
        self.verified[path] = (before.st_size, before.st_mtime_ns, sha256)
        return ""

    def keep(self) -> None:
        write(self.root / VERIFIED, json.dumps(self.verified))

    def forget(self, path: str) -> None:
        """Throw away a file that is not as listed, and what the hub's client remembers of it."""
        self.verified.pop(path, None)
        (self.root / path).unlink(missing_ok=True)
        self.part(path).unlink(missing_ok=True)
        for one in (self.root / HUB / "download").glob(f"{glob.escape(path)}.*"):
            one.unlink(missing_ok=True)

    def part(self, path: str) -> Path:
        """Where a file lies until it is whole."""
        return self.work / "parts" / path

    def take_part(self, path: str) -> None:
        """Put a file in its place that came whole as a part."""
        if _size(self.part(path)) == self.files[path]["size"]:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            self.part(path).replace(self.root / path)

    def refuse_cancelled(self) -> None:
        """Ask whether it is to end. A file tells it: a signal would not find a process inside of a container."""
        if (self.work / CANCEL).exists():
            (self.work / CANCEL).unlink(missing_ok=True)
            raise Ended("prefetch-cancelled", "by invoke prefetch --cancel; what came is kept")

    def unsealed(self) -> None:
        """From here on it is not complete, whatever it was."""
        (self.root / MANIFEST).unlink(missing_ok=True)

    def seal(self) -> None:
        """All is verified: list it with its sums, last and at once."""
        for path in self._unlisted():
            away = self.work / "unlisted" / path
            away.parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).replace(away)
            say(f"{path} is not of this revision: it lies in {WORK}/unlisted now")
        self.keep()
        files = [{"path": p, "size": f["size"], "sha256": self.verified[p][2]} for p, f in self.files.items()]
        shutil.rmtree(self.root / HUB, ignore_errors=True)
        write(self.root / MANIFEST, json.dumps({**self.manifest, "files": files, "verified_at": int(time.time())}))

    def _unlisted(self) -> list[str]:
        return [path for path in below(self.root) if path not in self.files]

    def there(self, paths: Iterable[str]) -> int:
        """Bytes of `paths` that lie here, whole or not yet."""
        total = 0
        for path in paths:
            whole, part = _size(self.root / path), _size(self.part(path))
            total += min(whole if whole is not None else part or 0, self.files[path]["size"])
        return total + sum(one.stat().st_blocks * 512 for one in self._incomplete())

    def _incomplete(self) -> Iterator[Path]:
        for one in (self.root / HUB / "download").rglob("*.incomplete"):
            if _size(one) is not None:
                yield one


def below(root: Path) -> Iterator[str]:
    """Every file of a folder by its path below it; what we and download tools keep there is left out."""
    for base, folders, names in os.walk(root):
        inside = Path(base).relative_to(root)
        if base == str(root):
            folders[:] = [one for one in folders if one not in {".cache", ".git"}]
        ours = ".bringup-" if base == str(root) else "\0"
        yield from sorted((inside / name).as_posix() for name in names if not name.startswith(ours))


def write(path: Path, text: str) -> None:
    """All of it or nothing: what was there stays when the disk is full."""
    new = path.with_name(f"{path.name}.new")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with new.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise Ended("disk-full" if error.errno in FULL else "fetch-failed", error) from None


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while piece := stream.read(PIECE):
        yield piece


def is_pointer(file: Path) -> bool:
    """What a clone leaves without LFS: a few lines of text where weights should be."""
    with file.open("rb") as stream:
        return stream.read(len(POINTER)) == POINTER and file.stat().st_size < 1024


def _sums(file: Path, ticks: list[int]) -> tuple[str, str]:
    """The sha256 of a file, and its sum as git blob."""
    sha256 = hashlib.sha256()
    blob = hashlib.sha1(b"blob %d\0" % file.stat().st_size, usedforsecurity=False)
    small = file.stat().st_size < 64 << 20
    with file.open("rb") as stream:
        for piece in pieces(stream):
            sha256.update(piece)
            if small:  # a hub keeps larger ones as LFS files, whose sha256 it tells
                blob.update(piece)
            ticks[0] += len(piece)
    return sha256.hexdigest(), blob.hexdigest()


def _same(wanted: dict[str, Any], sha256: str) -> bool:
    return bool(wanted.get("sha256", sha256) == sha256)


def _if_pointer(file: Path) -> str:
    return ": an LFS pointer, not the file" if is_pointer(file) else ""


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
