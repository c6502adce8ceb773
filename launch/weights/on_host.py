"""Compare folders of weights with their manifests: `python - sizes|digests FOLDER...`.

Sent as text; runs on hosts, in any Python from 3.8 on, standard library only. Prints a line of JSON for each folder:
`folder`, `files` and `bytes` (in the manifest), `simulated`, `wrong`: [path, what], at most 50, and `more`. With
`digests` every byte is read; where all are right `.bringup-digests` keeps when that was.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

MANIFEST, DIGESTS = ".bringup-manifest.json", ".bringup-digests"
PIECE, MOST = 1 << 20, 50


def compared(folder: Path, *, digests: bool) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files, simulated = manifest["files"], bool(manifest.get("simulated"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        return told(folder, (), [[MANIFEST, f"cannot be read: {error}"]], simulated=False)
    # Files of a lab host have names and sizes alone: there is nothing to read.
    wrong = list(faults(folder, files, digests=digests and not simulated))
    wrong += unlisted(folder, {one["path"] for one in files})
    if digests and not wrong and not simulated:
        keep(folder)
    return told(folder, files, wrong, simulated=simulated)


def told(folder: Path, files: Sequence[dict[str, Any]], wrong: list[list[str]], *, simulated: bool) -> dict[str, Any]:
    size, more = sum(one["size"] for one in files), max(0, len(wrong) - MOST)
    known = {"folder": str(folder), "files": len(files), "bytes": size, "simulated": simulated}
    return {**known, "wrong": wrong[:MOST], "more": more}


def faults(folder: Path, files: list[dict[str, Any]], *, digests: bool) -> Iterator[list[str]]:
    for one in files:
        what = fault(folder / one["path"], one, digests=digests)
        if what:
            yield [one["path"], what]
        if digests:
            sys.stderr.write(f"{one['path']}: {what or 'right'}\n")
            sys.stderr.flush()


def fault(path: Path, one: dict[str, Any], *, digests: bool) -> str:
    try:
        size = path.stat().st_size
        if size != one["size"]:
            return f"{size} bytes, not {one['size']}"
        if not digests:
            return ""
        if not one.get("sha256"):
            return "the manifest has no sum of it"
        summed = hashlib.sha256()
        with path.open("rb") as stream:
            while piece := stream.read(PIECE):
                summed.update(piece)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    came = summed.hexdigest()
    return "" if came == one["sha256"] else f"sha256 {came[:16]}..., not {one['sha256'][:16]}..."


def unlisted(folder: Path, listed: set[str]) -> Iterator[list[str]]:
    """A file that nobody listed may be read by a rank all the same: one more shard."""
    for base, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if one not in {".cache", ".git"}]
        for name in sorted(names):
            path = Path(base, name).relative_to(folder).as_posix()
            if path not in listed and not path.startswith(".bringup-"):
                yield [path, "is in no manifest"]


def keep(folder: Path) -> None:
    new = folder / f"{DIGESTS}.new"
    try:
        new.write_text(f"{int(time.time())}\n", encoding="ascii")
        new.replace(folder / DIGESTS)
    except OSError:
        sys.stderr.write(f"{folder}: that it was read cannot be written down\n")


if __name__ == "__main__":
    for argument in sys.argv[2:]:
        sys.stdout.write(json.dumps(compared(Path(argument), digests=sys.argv[1] == "digests")) + "\n")
        sys.stdout.flush()
