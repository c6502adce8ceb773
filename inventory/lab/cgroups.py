"""Control groups: a host whose first process is systemd has one of its own, in which it makes those of its units."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from inventory.errors import CheckFailed
from inventory.lab.process import Pid
from inventory.lab.state import Lab, LabHost

TOP = "bringup-lab"
REMOVE_S = 5.0


def mount() -> Path | None:
    """Where this machine has its (second version) control groups, if it may make some."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.startswith("cgroup2 ") and "rw" in fields.split()[5].split(","):
            return Path(fields.split()[4])
    return None


def of(lab: Lab, host: LabHost) -> Path:
    place = mount()
    if place is None:
        raise CheckFailed(
            "hosts with systemd need control groups of their own",
            id="lab-prerequisites",
            observed="no writable mount of cgroup2",
            required="cgroup2, mounted read-write",
            next_command="mount | grep cgroup2",
        )
    return place / TOP / lab.name / host.name


def make(lab: Lab, host: LabHost) -> Path:
    """Make the group in which a host starts, with what controllers this machine passes on."""
    path = of(lab, host)
    path.mkdir(parents=True, exist_ok=True)
    for above in (path.parents[1], path.parent):
        for controller in (above / "cgroup.controllers").read_text().split():
            with suppress(OSError):
                (above / "cgroup.subtree_control").write_text(f"+{controller}")
    return path


def move_parent_out(pid: Pid) -> None:
    """Move the program that waits for a host's end out of the host's group, which must hold the host alone."""
    place = mount()
    fields = Path(f"/proc/{pid.number}/stat").read_text().rpartition(")")[2].split()
    if place is not None:
        (place / "cgroup.procs").write_text(fields[1])


def remove(lab: Lab) -> list[str]:
    """Remove the groups of a lab whose processes are gone."""
    place = mount()
    if place is None or not (place / TOP / lab.name).is_dir():
        return []
    deadline = time.monotonic() + REMOVE_S
    while not _removed(place / TOP / lab.name):
        if time.monotonic() > deadline:
            return [f"control groups of {lab.name} (some are still in use)"]
        time.sleep(0.02)
    with suppress(OSError):  # another lab has groups
        (place / TOP).rmdir()
    return ["control groups"]


def _removed(top: Path) -> bool:
    """Remove the folders below `top` and itself, deepest first; a group whose last process is just ending stays."""
    folders = sorted((path for path in top.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts))
    try:
        for folder in (*folders, top):
            folder.rmdir()
    except OSError:
        return not top.exists()
    return True
