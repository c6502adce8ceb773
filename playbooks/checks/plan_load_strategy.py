from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import FileSystem, HostFacts, WeightFolder
from playbooks.argv import options
from playbooks.checks.base import Priority, gb, skip
from playbooks.checks.file_systems import Place, place_of
from playbooks.checks.stored import folder_of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "plan.load_strategy"
PRIORITY = Priority.P1
WHY = "page faults on a large checkpoint read it in pieces of 4 KiB: an hour instead of minutes"

SLOW_MAPPED = ("ext4", "nfs", "nfs4", "lustre", "gpfs", "fuse", "ceph", "cifs", "beegfs")
LARGE_BYTES = 200 * 10**9
OPTION = "--safetensors-load-strategy"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    size = weights_bytes(facts, needs)
    if size is None or not needs.argv:
        return skip(ID, facts.host, "the plan does not tell the size of the weights, or renders no command")
    found = file_system(facts, needs)
    if found is None:
        return skip(ID, facts.host, "the file system of the weights is not known")
    chosen = options(needs.argv).get(OPTION)
    observed = f"{gb(size)} of weights on {found.type} ({found.mount}), {OPTION} {chosen or 'is not set'}"
    if chosen or size <= LARGE_BYTES or not found.type.startswith(SLOW_MAPPED):
        return Finding(ID, Status.PASS, facts.host, observed)
    required = "a load strategy that reads whole files"
    return Finding(ID, Status.WARN, facts.host, observed, required, "--set safetensors-load-strategy=prefetch")


def weights_bytes(facts: HostFacts, needs: HostRequirements) -> int | None:
    """As the plan lists them, else as they lie on the host, else as they are still to come."""
    if needs.weights and needs.weights.bytes is not None:
        return needs.weights.bytes
    folder = folder_of(facts, needs.weights) if needs.weights and needs.weights.path else None
    if isinstance(folder, WeightFolder) and folder.manifest is not None:
        return sum(one.size for one in folder.manifest)
    planned = [one.bytes_needed for one in needs.space if one.purpose == "weights" and one.bytes_needed]
    return planned[0] if planned else None


def file_system(facts: HostFacts, needs: HostRequirements) -> FileSystem | Place | None:
    """That of the weights' folder: the longest mount that leads there."""
    if not needs.weights or not needs.weights.path:
        return None
    path = needs.weights.path
    if not is_known(facts.file_systems):
        place = place_of(facts, path)
        return place if is_known(place) else None
    above = [one for one in facts.file_systems if f"{path}/".startswith(one.mount.rstrip("/") + "/")]
    return max(above, key=lambda one: len(one.mount), default=None)
