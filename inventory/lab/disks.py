"""File systems in memory for the lab's files: one for what all hosts share, one for each host's own disk.

A host's disk outlives its power cuts and ends with the lab. Its size is a limit, not memory that is taken: only what
is written counts, and holes in files do not.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from inventory.errors import ChangeFailed
from inventory.lab.process import run
from inventory.lab.state import Lab


def mount(place: Path, size: str) -> None:
    """Mount an empty file system of `size` (bytes, or a share of this machine's memory such as 50%)."""
    place.mkdir()
    run(["mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes=0,mode=755", "bringup-lab", str(place)])


def make_disk(place: Path, size: str) -> Path:
    """Mount a host's disk and return the folder of its files."""
    mount(place, size)
    for name in ("upper", "work", "root"):
        (place / name).mkdir()
        (place / name).chmod(0o755)
    return place / "upper"


def remove_files(lab: Lab) -> list[str]:
    """Unmount everything of the lab and delete its folder; what was there is returned in words."""
    mounts = mounted_below(lab.folder)
    for path in mounts:
        _unmount(path)
    shutil.rmtree(lab.folder)
    return [f"{len(mounts)} mounts", f"folder {lab.folder}"]


def _unmount(path: Path) -> None:
    try:
        run(["umount", str(path)])
    except ChangeFailed:  # somebody's shell stands in it: it ends when that leaves
        run(["umount", "--lazy", str(path)])


def mounted_below(folder: Path) -> list[Path]:
    """The mount points of this machine below `folder`, later mounts first."""
    points = (line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    paths = (Path(_unescaped(point)) for point in points)
    return [path for path in reversed(list(paths)) if path.is_relative_to(folder)]


def _unescaped(point: str) -> str:
    """The kernel writes blanks and backslashes as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)
