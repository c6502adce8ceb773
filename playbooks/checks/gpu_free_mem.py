from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Gpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority, gib, gpu_memory, planned_gpus, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.free_mem"
PRIORITY = Priority.P0
WHY = "vLLM gives up after loading for minutes when the memory it was promised is taken"

_LOOK = f"{ON_HOST}ps -eo pid,user,rss,cmd --sort=-rss | head"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    if needs.memory_per_gpu_bytes is None:
        return skip(ID, facts.host, "the recipe does not tell how much memory a GPU needs")
    required = f"{gib(needs.memory_per_gpu_bytes)} free on every planned GPU"
    if any((gpu_memory(gpu, facts) or needs.memory_per_gpu_bytes) < needs.memory_per_gpu_bytes for gpu in gpus):
        return skip(ID, facts.host, "a planned GPU is too small even when empty: see plan.vram_fit")
    free = {gpu.index: free_bytes(gpu, facts, needs) for gpu in gpus}
    unclear = [index for index, size in free.items() if size is None]
    if unclear:
        observed = f"GPU {unclear[0]}: free memory cannot be told"
        return Finding(ID, Status.UNKNOWN, facts.host, observed, required, _LOOK)
    least, index = min((size or 0, index) for index, size in free.items())
    observed = f"GPU {index} has the least: {gib(least)} free"
    if least >= needs.memory_per_gpu_bytes:
        return Finding(ID, Status.PASS, facts.host, observed)
    return Finding(ID, Status.FAIL, facts.host, observed, required, _LOOK)


def free_bytes(gpu: Gpu, facts: HostFacts, needs: HostRequirements) -> int | None:
    """Memory less what foreign processes hold. Unified memory: the host's, shared by the planned GPUs."""
    if gpu.memory_bytes is None:
        return facts.memory.available_bytes // len(needs.gpus) if is_known(facts.memory) else None
    held = [p.memory_bytes for p in gpu.processes if p.pid not in needs.own_pids]
    return None if None in held else gpu.memory_bytes - sum(size or 0 for size in held)
