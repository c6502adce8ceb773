"""Read what is not known to be right, several files at a time."""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Sequence

from .ended import Ended, say_progress
from .folder import Folder

TOLD_EVERY_S = 2.0
KEPT_EVERY_S = 10.0


def _refuse_cancelled(folder: Folder, left: set[concurrent.futures.Future[str]]) -> None:
    try:
        folder.refuse_cancelled()
    except Ended:
        for one in left:
            one.cancel()
        folder.keep()
        raise


def faults(folder: Folder, paths: Sequence[str]) -> dict[str, str]:
    """What is wrong with files, by path. Nothing that is right is read again, also not by a later run."""
    todo = [path for path in paths if not folder.is_verified(path)]
    if not todo:
        return {}
    ticks, total, found = [0], folder.size_of(todo), {}
    with concurrent.futures.ThreadPoolExecutor(max(1, min(8, (os.cpu_count() or 2) // 2))) as pool:
        jobs = {pool.submit(folder.verify, path, ticks): path for path in todo}
        left, told, kept = set(jobs), time.monotonic(), time.monotonic()
        while left:
            done, left = concurrent.futures.wait(left, timeout=0.5)
            if left:
                _refuse_cancelled(folder, left)
            found.update({jobs[one]: one.result() for one in done if one.result()})
            if time.monotonic() - told > TOLD_EVERY_S:
                told = time.monotonic()
                say_progress(folder.work, total, total, ticks[0], "verifying")
            if done and time.monotonic() - kept > KEPT_EVERY_S:
                kept = time.monotonic()
                folder.keep()
    folder.keep()
    return found
