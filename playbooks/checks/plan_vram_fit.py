from __future__ import annotations

from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, gib, gpu_memory, planned_gpus, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "plan.vram_fit"
PRIORITY = Priority.P0
WHY = "weights that do not fit are found out after minutes of loading, on the last shard"

_MARGIN = 1.1  # below this there is hardly room for the KV cache
_REMEDY = "spread it over more hosts (--hosts), or choose a smaller variant (--variant)"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    if needs.memory_per_gpu_bytes is None:
        return skip(ID, facts.host, "the recipe does not tell how much memory a GPU needs")
    needed = needs.memory_per_gpu_bytes
    required = f"{gib(needed)} a GPU for weights and working space, and a tenth more for the KV cache"
    sizes = [size for gpu in gpus if (size := gpu_memory(gpu, facts)) is not None]
    if len(sizes) < len(gpus):
        look = f"{ON_HOST}cat /proc/meminfo"
        return Finding(ID, Status.UNKNOWN, facts.host, "the size of unified memory is unknown", required, look)
    observed = f"the smallest planned GPU has {gib(min(sizes))}"
    if min(sizes) < needed:
        return Finding(ID, Status.FAIL, facts.host, observed, required, _REMEDY)
    status = Status.WARN if min(sizes) < needed * _MARGIN else Status.PASS
    return Finding(ID, status, facts.host, observed, required, _REMEDY)
