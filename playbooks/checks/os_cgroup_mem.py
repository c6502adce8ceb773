"""A memory limit of the cgroup against what the ranks of one host take of the host's own memory."""

from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, gib, skip
from playbooks.checks.launch_context import LOOK, could_not_be_read, part_of, place_of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "os.cgroup_mem"
PRIORITY = Priority.P1
WHY = "the kernel kills a worker that passes the limit while it loads, though the machine has memory left"

BASE = 16 << 30  # pinned buffers and the processes themselves
_RAISE = (
    f"{ON_HOST}cat /proc/self/cgroup; then raise memory.max (MemoryMax= of the slice, --memory of docker) or drop it"
)


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    limit = part_of(facts, lambda context: context.memory_maximum)
    required, least = rule(needs)
    if isinstance(limit, Unknown):
        if could_not_be_read(facts.context):
            return Finding(ID, Status.WARN, facts.host, str(limit), required, LOOK)
        return skip(ID, facts.host, "the memory limit where ranks start was not looked at")
    if limit is None:
        return Finding(ID, Status.PASS, facts.host, f"no memory limit in {place_of(facts)}")
    observed = f"memory limit {gib(limit)} in {place_of(facts)}"
    if limit >= least:
        return Finding(ID, Status.PASS, facts.host, f"{observed}; {required}")
    return Finding(ID, Status.FAIL, facts.host, observed, required, _RAISE)


def rule(needs: HostRequirements) -> tuple[str, int]:
    """The need in words and bytes: what the plan tells, else the largest shard for each loading worker, and 16 GiB.

    The 16 GiB are what GPUs take in pinned buffers; a trial on CPUs is not held to them.
    """
    base = BASE if needs.gpus else 0
    if needs.host_memory_bytes is not None:
        return f"{gib(needs.host_memory_bytes)} of host memory for the plan", needs.host_memory_bytes
    files = needs.weights.files if needs.weights else None
    if not files or not needs.processes.workers:
        return f"at least {gib(base)} of host memory", base
    largest, workers = max(one.size for one in files), needs.processes.workers
    least = largest * workers + base
    return f"largest shard {gib(largest)} x {workers} loading workers + {gib(base)} = {gib(least)}", least
