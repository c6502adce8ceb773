from __future__ import annotations

from inventory.facts.host import Gpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority, gib, skip
from playbooks.checks.devices import nvidia_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.mem_spread"
PRIORITY = Priority.P2
WHY = "the rank with the least free memory decides the KV cache of all; on Grace the page cache is charged to GPUs"

SPREAD = 0.02


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = nvidia_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    free = {gpu.index: free_of_others(gpu, needs) for gpu in gpus if gpu.free_bytes is not None and gpu.memory_bytes}
    if len(free) < 2:
        return skip(ID, facts.host, "fewer than two planned GPUs tell their free memory")
    total = max(gpu.memory_bytes or 0 for gpu in gpus)
    (least, at), (most, _) = (function((size, index) for index, size in free.items()) for function in (min, max))
    observed = f"GPU {at} has {gib(least)} free, the most is {gib(most)}"
    if most - least > SPREAD * total:
        required = f"free memory of planned GPUs within {SPREAD:.0%} of {gib(total)}"
        remedy = f"{ON_HOST}sync; echo 1 | sudo tee /proc/sys/vm/drop_caches  # and look at gpu.owners"
        return Finding(ID, Status.WARN, facts.host, observed, required, remedy)
    return Finding(ID, Status.PASS, facts.host, observed)


def free_of_others(gpu: Gpu, needs: HostRequirements) -> int:
    """What is free when the deployment that is replaced has gone."""
    own = sum(one.memory_bytes or 0 for one in gpu.processes if one.pid in needs.own_pids)
    return (gpu.free_bytes or 0) + own
