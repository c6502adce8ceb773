from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, gb, gib, gpu_memory, planned_gpus, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "plan.vram_fit"
PRIORITY = Priority.P0
WHY = "weights that do not fit are found out after minutes of loading, on the last shard"

_MARGIN = 1.1  # below this there is hardly room for the KV cache
_REMEDY = "spread it over more hosts (--hosts), or choose a smaller variant (--variant)"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    """By what one GPU must hold, on every host; and by what all must hold together, where the recipe tells that."""
    each = tuple(of_host(facts[one.host], one) for one in needs.hosts if one.host in facts)
    return (*each, *_together(facts, needs)) or (skip(ID, "", "no host has facts"),)


def of_host(facts: HostFacts, needs: HostRequirements) -> Finding:
    if needs.memory_per_gpu_bytes is None:
        return skip(ID, facts.host, "the recipe does not tell how much memory a GPU needs")
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
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


def _together(facts: Mapping[str, HostFacts], needs: Requirements) -> Iterator[Finding]:
    """The recipe's own rule: the memory of all GPUs, as they report it, against its `vram_minimum_gb`."""
    minimum = needs.model.vram_minimum_gb
    sizes = {one.host: _sizes(facts.get(one.host), one) for one in needs.hosts if one.gpus}
    if not minimum or not sizes or None in sizes.values():
        return
    total = sum(sum(each) for each in sizes.values() if each)
    count = sum(len(each) for each in sizes.values() if each)
    observed = f"{count} GPUs of {len(sizes)} host(s) have {gb(total)} together"
    required = f"{minimum:g} GB for {needs.model.id or 'the model'} {needs.model.variant}".rstrip()
    if total < minimum * 10**9:
        yield Finding(ID, Status.FAIL, "", observed, required, _REMEDY)
    else:
        status = Status.WARN if total < minimum * 10**9 * _MARGIN else Status.PASS
        yield Finding(ID, status, "", observed, f"{required}, and a tenth more for the KV cache", _REMEDY)


def _sizes(facts: HostFacts | None, needs: HostRequirements) -> list[int] | None:
    """Bytes of each planned GPU; None where one is not known."""
    if facts is None:
        return None
    gpus = planned_gpus(ID, facts, needs)
    found = [] if isinstance(gpus, Finding) else [gpu_memory(gpu, facts) for gpu in gpus]
    known = [size for size in found if size is not None]
    return known if len(known) == len(needs.gpus) else None
