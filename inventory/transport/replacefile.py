"""Changing a small text file as a whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def edited(path: Path, *, keep_old: bool = False) -> Iterator[Path]:
    """A copy of `path` to change, which takes its place at the end of the block; after an error nothing is changed.

    A file that is not there begins empty and private; a symlink keeps pointing at the file. Two that edit in the same
    folder wait for each other. `keep_old` leaves the former content beside it as `NAME.old`.
    """
    real = Path(os.path.realpath(path))
    real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(real.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        os.close(handle)
        draft = Path(name)
        try:
            if real.exists():
                shutil.copy2(real, draft)
            yield draft
            if keep_old and real.exists():
                shutil.copy2(real, real.with_name(real.name + ".old"))
            draft.replace(real)
        finally:
            draft.unlink(missing_ok=True)
    finally:
        os.close(folder)
