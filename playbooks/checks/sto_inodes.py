from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import FileSystem, HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.checks.file_systems import spaces_by_mount
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Space

ID = "sto.inodes"
PRIORITY = Priority.P2
WHY = "a file system without free inodes says that it is full although it is not"

# vLLM 0.32's environment has 42,000 files and folders; Python adds a compiled file to about half of them.
_FILES = {"environment": 80_000}
_OTHERS = 1_000


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    writes = tuple(one for one in needs.space if one.bytes_needed)
    if not writes:
        return skip(ID, facts.host, "the plan writes nothing here")
    required = f"{files(writes)} free inodes"
    look = f"{ON_HOST}df -i"
    if not is_known(facts.file_systems):
        return unread(ID, facts.host, facts.file_systems, required, look)
    mounts = spaces_by_mount(facts.file_systems, writes)
    if mounts.unmatched:
        observed = f"no file system was asked for {', '.join(one.path for one in mounts.unmatched)}"
        return Finding(ID, Status.UNKNOWN, facts.host, observed, required, look)
    short = [(system, files(spaces)) for system, spaces in mounts.matched if lacks(system, files(spaces))]
    if not short:
        return Finding(ID, Status.PASS, facts.host, "enough free inodes on every file system")
    system, wanted = short[0]
    observed = f"{system.free_inodes} free inodes on {system.mount}"
    look = f"{ON_HOST}sudo du --inodes -xs {quote(system.mount)}/* | sort -n | tail"
    return Finding(ID, Status.FAIL, facts.host, observed, f"{wanted} free inodes there", look)


def files(spaces: tuple[Space, ...]) -> int:
    return sum(_FILES.get(one.purpose, _OTHERS) for one in spaces)


def lacks(system: FileSystem, wanted: int) -> bool:
    # None: a file system that makes inodes as it needs them (btrfs, some network file systems).
    return system.free_inodes is not None and system.free_inodes < wanted
