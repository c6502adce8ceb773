"""What lies in a folder of caches, and how a part of it is packed for other hosts and put aside for the next start.

Sent as text; runs on hosts, in any Python from 3.8 on, standard library only:

    python - list FOLDER                 a line of JSON: files as [path, size, modified ns, sha256]
    python - share FOLDER WANTED OUT     the files of WANTED (JSON, a list of such), one behind the other, in OUT
    python - place WANTED INTO           takes the shares of WANTED apart: every file has its size and sum, or nothing

A share is bytes alone: names, sizes and sums come from the control machine, so no archive can name a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

PIECE = 1 << 20
KEPT = (
    *("vllm/torch_compile_cache", "vllm/flashinfer_autotune_cache", "vllm/deep_gemm", "vllm/modelinfos"),
    *(".cache/flashinfer", "triton", "inductor", "torch_extensions", "tilelang", ".tilelang", ".aiter"),
)
# Locks, and what is renamed when it is whole: of one process, or unfinished.
PASSING = (".lock", "_lock", ".tmp", ".part", ".incomplete")
MOST = 200_000


def passes(name: str) -> bool:
    return name.endswith(PASSING) or name.startswith(("tmp.", ".tmp", ".bringup")) or ".tmp." in name


def kept(folder: Path) -> Iterator[Path]:
    """Every file that may be given to another host, sorted: plain files below the roots of caches alone."""
    for root in KEPT:
        for parent, folders, names in os.walk(folder / root):
            folders[:] = sorted(one for one in folders if not passes(one) and not Path(parent, one).is_symlink())
            for name in sorted(names):
                path = Path(parent, name)
                if not passes(name) and not path.is_symlink() and path.is_file():
                    yield path


def pieces(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """At most `size` bytes."""
    while size > 0:
        piece = stream.read(min(PIECE, size))
        if not piece:
            return
        size -= len(piece)
        yield piece


def told(folder: Path, path: Path) -> list[object] | None:
    """None for a file that goes or changes while it is read: the next start harvests it."""
    summed = hashlib.sha256()
    try:
        before = path.stat()
        with path.open("rb") as stream:
            for piece in pieces(stream, before.st_size):
                summed.update(piece)
        after = path.stat()
    except OSError:
        return None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        return None
    return [str(path.relative_to(folder)), after.st_size, after.st_mtime_ns, summed.hexdigest()]


def list_files(folder: str) -> None:
    files: list[list[object]] = []
    for path in kept(Path(folder)):
        one = told(Path(folder), path) if str(path).isprintable() else None
        files += [one] if one else []
        if len(files) > MOST:
            sys.exit(f"{folder} holds more than {MOST} files")
    sys.stdout.write(json.dumps({"files": files}) + "\n")


def share(folder: str, wanted: str, out: str) -> None:
    """Fails where a file is not any more what was listed: whoever asked lists again."""
    with Path(out).open("wb") as stream:
        for path, size, _, sha256 in json.loads(Path(wanted).read_text()):
            with inside(folder, path).open("rb") as source:
                came = copied(source, stream, size)
                if came != sha256 or source.read(1):
                    sys.exit(f"{path} has changed since it was listed")


def place(wanted: str, into: str) -> None:
    for one in json.loads(Path(wanted).read_text()):
        with Path(one["share"]).open("rb") as stream:
            for row in one["files"]:
                put(stream, into, row)
            if stream.read(1):
                sys.exit(f"{one['share']} goes on behind its last file")


def put(stream: BinaryIO, into: str, row: list[Any]) -> None:
    path, size, modified_ns, sha256 = row
    if path is None:  # this host has it
        for _ in pieces(stream, size):
            pass
        return
    target = inside(into, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        came = copied(stream, out, size)
    if came != sha256:
        sys.exit(f"{path} is not what its host listed")
    os.utime(target, ns=(modified_ns, modified_ns))  # ninja compares times


def copied(source: BinaryIO, out: BinaryIO, size: int) -> str:
    """The sum of what there was of `size` bytes."""
    summed = hashlib.sha256()
    for piece in pieces(source, size):
        summed.update(piece)
        out.write(piece)
    return summed.hexdigest()


def inside(folder: str, path: str) -> Path:
    if path.startswith("/") or any(part in {"", ".", ".."} for part in path.split("/")):
        sys.exit(f"not a path below a folder: {path!r}")
    return Path(folder, path)


COMMANDS: dict[str, Callable[..., None]] = {"list": list_files, "share": share, "place": place}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
