from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import FileSystem, HostFacts, WeightFolder
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, gb, skip, unread
from playbooks.checks.file_systems import Mounts, spaces_by_mount
from playbooks.checks.stored import folder_of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Space, WeightFile

ID = "sto.space"
PRIORITY = Priority.P0
WHY = "a download that fills the disk fails after hours, and takes the logs of everything else with it"

_TEMPORARY = 1.05  # partial files beside the finished ones
_LOOK = f"{ON_HOST}df -B1 /"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    spaces = planned(facts, needs)
    if not spaces:
        return skip(ID, facts.host, "the plan writes nothing here")
    required = "room for " + ", ".join(f"{one.purpose} ({gb(one.bytes_needed)})" for one in spaces)
    if not is_known(facts.file_systems):
        return unread(ID, facts.host, facts.file_systems, required, _LOOK)
    mounts = spaces_by_mount(facts.file_systems, spaces)
    if mounts.unmatched:
        observed = f"no file system was asked for {', '.join(one.path for one in mounts.unmatched)}"
        return Finding(ID, Status.UNKNOWN, facts.host, observed, required, _LOOK)
    return worst(facts.host, mounts)


def planned(facts: HostFacts, needs: HostRequirements) -> tuple[Space, ...]:
    """What is still to come: of weights, what is not there with its full size."""
    weights = needs.weights
    if weights is None:
        return needs.space
    there = folder_of(facts, weights)
    folder = there if isinstance(there, WeightFolder) else None
    others = tuple(one for one in needs.space if one.purpose != "weights")
    if weights.files is not None:
        path = weights.path or only_path(facts)
        return (*others, *missing(path, weights.files, folder)) if path else others
    already = sum(one.size for one in folder.files) if folder else 0
    ours = (one for one in needs.space if one.purpose == "weights")
    return (*others, *(Space(one.path, max(0, one.bytes_needed - already), one.purpose) for one in ours))


def missing(path: str, files: tuple[WeightFile, ...], folder: WeightFolder | None) -> tuple[Space, ...]:
    """What is still to come, and room for one more file: one is written beside its final place."""
    there = {one.path: one.size for one in folder.files} if folder else {}
    sizes = [one.size for one in files if there.get(one.path) != one.size]
    return (Space(path, sum(sizes), "weights"), *([Space(path, max(sizes), "the file being written")] if sizes else []))


def only_path(facts: HostFacts) -> str | None:
    """Where weights go when neither plan nor host tells: the one file system that was asked for."""
    systems = facts.file_systems if is_known(facts.file_systems) else ()
    return systems[0].asked if len(systems) == 1 else None


def worst(host: str, mounts: Mounts) -> Finding:
    """The gravest of all file systems; several purposes on one file system add up."""
    findings = [of_mount(host, system, spaces) for system, spaces in mounts.matched]
    gravity = [Status.FAIL, Status.WARN, Status.PASS]
    return min(findings, key=lambda finding: gravity.index(finding.status))


def of_mount(host: str, system: FileSystem, spaces: tuple[Space, ...]) -> Finding:
    needed = sum(one.bytes_needed for one in spaces)
    purposes = " + ".join(f"{one.purpose} {gb(one.bytes_needed)}" for one in spaces)
    observed = f"{gb(system.free_bytes)} free on {system.mount} ({system.type})"
    required = f"{gb(needed)} for {purposes}, and 5 % for temporary files"
    mount = quote(system.mount) if system.mount != "/" else ""
    remedy = f"{ON_HOST}sudo du -xsh {mount}/* | sort -h | tail  # or set state_dir to a larger disk"
    if needed * _TEMPORARY > system.free_bytes:
        return Finding(ID, Status.FAIL, host, observed, required, remedy)
    if needed and system.free_bytes - needed < reserve(system):
        required += f", and {gb(reserve(system))} left for logs and caches"
        return Finding(ID, Status.WARN, host, observed, required, remedy)
    return Finding(ID, Status.PASS, host, f"{observed}; {gb(needed)} will be written")


def reserve(system: FileSystem) -> int:
    """What should stay free: 20 GiB, on small disks a twentieth."""
    return min(20 * 2**30, system.total_bytes // 20)
