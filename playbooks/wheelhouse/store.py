"""The control machine's own store of files: each in a folder named by its sha256, under its name only when whole.

Downloads resume where they were cut off, by another process too; what does not have the sum is thrown away.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inventory.errors import BringupError, CheckFailed, raise_all
from playbooks.cargo import CargoFile
from playbooks.web import AGAIN, TRIES, StatusError, Web, shown, unanswered

Told = Callable[[int], None]
"""Called with the number of bytes that have come, from several threads."""

PIECE = 1 << 20
AT_ONCE = 4


def default_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bringup" / "files"


@dataclass(frozen=True, slots=True)
class Store:
    folder: Path

    def path(self, file: CargoFile) -> Path:
        """Where a file is, or will be; one of this machine's own disk stays where it is."""
        return Path(file.origin) if file.origin.startswith("/") else self.folder / file.sha256 / file.name

    def has(self, file: CargoFile) -> bool:
        path = self.path(file)
        return path.is_file() and path.stat().st_size == file.size

    def missing(self, files: Sequence[CargoFile]) -> tuple[CargoFile, ...]:
        return tuple(one for one in files if not self.has(one))

    def fetch(self, files: Sequence[CargoFile], web: Web, told: Told) -> None:
        """Download what is not there. Raises all that failed: `CheckFailed` each."""
        wanted = self.missing(files)
        needed = sum(one.size for one in wanted)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise _no_space(self.folder, free, needed)
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fetch") as pool:
            ended = list(pool.map(lambda file: self._try(file, web, told), wanted))
        raise_all([one for one in ended if one])

    def _try(self, file: CargoFile, web: Web, told: Told) -> BringupError | None:
        try:
            self._fetch(file, web, told)
        except BringupError as error:
            return error
        return None

    def _fetch(self, file: CargoFile, web: Web, told: Told) -> None:
        if file.origin.startswith("/"):
            raise unanswered(file.origin, OSError("the file is gone, or has another size now"))
        path = self.path(file)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(path.parent):
            if self.has(file):  # another process was faster
                told(file.size)
                return
            part = path.with_name(f"{file.name}.part")
            for number in range(1, TRIES + 1):
                try:
                    _pull(file, part, web, told)
                    break
                except (StatusError, OSError) as error:
                    passes = not isinstance(error, StatusError) or error.status in AGAIN
                    if number == TRIES or not passes:
                        raise unanswered(file.origin, error) from None
                    web.pause(number)
            _verify(file, part)
            part.rename(path)


def _pull(file: CargoFile, part: Path, web: Web, told: Told) -> None:
    """Add what is missing behind the part that is there."""
    there = part.stat().st_size if part.exists() else 0
    if there > file.size:
        part.unlink()
        there = 0
    if there == file.size and part.exists():
        told(file.size)
        return
    with web.open(file.origin, {"Range": f"bytes={there}-"} if there else {}) as answer:
        resumed = answer.status == 206 and answer.headers.get("content-range", "").startswith(f"bytes {there}-")
        with part.open("ab" if resumed else "wb") as out:
            told(there if resumed else 0)
            while piece := answer.stream.read(PIECE):
                out.write(piece)
                told(len(piece))
    if (size := part.stat().st_size) < file.size:
        raise OSError(f"{size} of {file.size} bytes came")


def _verify(file: CargoFile, part: Path) -> None:
    with part.open("rb") as stream:
        seen = hashlib.file_digest(stream, "sha256").hexdigest()
    if seen != file.sha256 or part.stat().st_size != file.size:
        size = part.stat().st_size
        part.unlink()
        raise CheckFailed(
            f"{file.name} is not the file of the plan; it was thrown away",
            id="checksum-mismatch",
            observed=f"sha256 {seen}, {size} bytes, from {shown(file.origin)}",
            required=f"sha256 {file.sha256}, {file.size} bytes",
            next_command="type the same command again; if it stays so, the mirror has another file: ask who runs it",
        )


def _no_space(folder: Path, free: int, needed: int) -> CheckFailed:
    return CheckFailed(
        "the disk of this machine has no room for what hosts are to be given",
        id="control-space",
        observed=f"{free / 1e9:.1f} GB free in {folder}",
        required=f"{needed / 1e9:.1f} GB",
        next_command=f"rm -r {folder}, or set XDG_CACHE_HOME to a larger disk",
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two processes that want the same file wait for each other."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
