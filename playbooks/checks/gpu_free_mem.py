"""vLLM claims its share of the whole memory at once: what is free now has to be that much.

0.33.0 compares the free memory that it finds after it has set itself up with `--gpu-memory-utilization` times the
total. That setting-up takes some hundred MB, hence the margin.
"""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Gpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority, gib, gpu_memory, skip
from playbooks.checks.devices import planned_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.free_mem"
PRIORITY = Priority.P0
WHY = "vLLM gives up after loading for minutes when the memory it was promised is taken"

MARGIN = 0.02  # of the total
_LOOK = f"{ON_HOST}ps -eo pid,user,rss,cmd --sort=-rss | head"
_REMEDY = f"{_LOOK}  # stop who holds it (see gpu.owners), or ask for less: --gpu-memory-utilization"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    if needs.memory_per_gpu_bytes is None and needs.gpu_memory_utilization is None:
        return skip(ID, facts.host, "the recipe does not tell how much memory a GPU needs")
    minimum = needs.memory_per_gpu_bytes or 0
    if any((gpu_memory(gpu, facts) or minimum) < minimum for gpu in gpus):
        return skip(ID, facts.host, "a planned GPU is too small even when empty: see plan.vram_fit")
    free = {gpu.index: free_bytes(gpu, facts, needs) for gpu in gpus}
    wanted = {gpu.index: wanted_bytes(gpu, facts, needs) for gpu in gpus}
    unclear = [index for index, size in free.items() if size is None]
    if unclear:
        observed = f"GPU {unclear[0]}: free memory cannot be told"
        return Finding(ID, Status.UNKNOWN, facts.host, observed, required(wanted, needs), _LOOK)
    return compare(facts, {index: size or 0 for index, size in free.items()}, wanted, needs)


def compare(facts: HostFacts, free: dict[int, int], wanted: dict[int, int], needs: HostRequirements) -> Finding:
    worst = min(free, key=lambda index: free[index] - wanted[index])
    observed = f"GPU {worst} has the least: {gib(free[worst])} free"
    spare = free[worst] - wanted[worst]
    if spare < 0:
        return Finding(ID, Status.FAIL, facts.host, observed, required(wanted, needs), _REMEDY)
    if needs.gpu_memory_utilization and spare < MARGIN * wanted[worst] / needs.gpu_memory_utilization:
        observed = f"{observed}, {gib(spare)} more than is asked for"
        return Finding(ID, Status.WARN, facts.host, observed, required(wanted, needs), _REMEDY)
    return Finding(ID, Status.PASS, facts.host, observed)


def required(wanted: dict[int, int], needs: HostRequirements) -> str:
    share = f" (utilization {needs.gpu_memory_utilization:g})" if needs.gpu_memory_utilization else ""
    return f"{gib(max(wanted.values()))} free on every planned GPU{share}"


def wanted_bytes(gpu: Gpu, facts: HostFacts, needs: HostRequirements) -> int:
    share = int((needs.gpu_memory_utilization or 0) * (gpu_memory(gpu, facts) or 0))
    return max(share, needs.memory_per_gpu_bytes or 0)


def free_bytes(gpu: Gpu, facts: HostFacts, needs: HostRequirements) -> int | None:
    """What is free when the deployment being replaced has gone. Unified memory: the host's, shared by planned GPUs."""
    if gpu.memory_bytes is None:
        count = len(needs.gpus) or 1
        return facts.memory.available_bytes // count if is_known(facts.memory) else None
    own = [p.memory_bytes for p in gpu.processes if p.pid in needs.own_pids]
    if gpu.free_bytes is not None:
        return gpu.free_bytes + sum(size or 0 for size in own)
    held = [p.memory_bytes for p in gpu.processes if p.pid not in needs.own_pids]
    return None if None in held else gpu.memory_bytes - sum(size or 0 for size in held)
