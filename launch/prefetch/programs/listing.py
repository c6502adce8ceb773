"""List a folder that nobody else lists: `python3 -m programs.listing FOLDER` prints its files, sizes and sha256."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from .ended import Ended, say
from .folder import below, is_pointer, pieces


def listed(root: Path) -> list[dict[str, object]]:
    """Raises `Ended` for an LFS pointer, and for a folder without files."""
    files: list[dict[str, object]] = []
    for path in below(root):
        file = root / path
        if is_pointer(file):
            raise Ended("lfs-pointer", file)
        sha256 = hashlib.sha256()
        with file.open("rb") as stream:
            for piece in pieces(stream):
                sha256.update(piece)
        files.append({"path": path, "size": file.stat().st_size, "sha256": sha256.hexdigest()})
    if not files:
        raise Ended("folder-empty", root)
    return files


def main() -> None:
    try:
        say(json.dumps(listed(Path(sys.argv[1]))))
    except Ended as error:
        sys.exit(f"outcome\t{error.name} {error.seen}")
    except OSError as error:
        sys.exit(f"outcome\tfolder-unreadable {error}")


if __name__ == "__main__":
    main()
