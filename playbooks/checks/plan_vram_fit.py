from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, gb, gib, gpu_memory, skip
from playbooks.checks.devices import planned_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, MemoryForecast, Requirements

ID = "plan.vram_fit"
PRIORITY = Priority.P0
WHY = "weights that do not fit are found out after minutes of loading, on the last shard"

_MARGIN = 1.1  # below this there is hardly room for the KV cache
_REMEDY = "spread it over more hosts (--hosts), or choose a smaller variant (--variant)"
_SHORTER = "a shorter --max-model-len, fewer --max-num-batched-tokens, an FP8 cache or more hosts: see invoke memory"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    """By what one GPU must hold, on every host; and by what all must hold together, where the recipe tells that."""
    each = tuple(of_host(facts[one.host], one) for one in needs.hosts if one.host in facts)
    return (*each, *_together(facts, needs)) or (skip(ID, "", "no host has facts"),)


def of_host(facts: HostFacts, needs: HostRequirements) -> Finding:
    """Two rules, and the graver word counts: the recipe's minimum, and the memory model where it knows the model."""
    told = needs.memory_forecast
    if needs.memory_per_gpu_bytes is None and told is None:
        return skip(ID, facts.host, "the recipe does not tell how much memory a GPU needs")
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    required = "; ".join(_required(needs))
    sizes = [size for gpu in gpus if (size := gpu_memory(gpu, facts)) is not None]
    if len(sizes) < len(gpus):
        look = f"{ON_HOST}cat /proc/meminfo"
        return Finding(ID, Status.UNKNOWN, facts.host, "the size of unified memory is unknown", required, look)
    observed = f"the smallest planned GPU has {gib(min(sizes))}" + (f"; {told.short}" if told and told.short else "")
    recipe, model = _by_recipe(min(sizes), needs), _by_model(min(sizes), told)
    recipe = _unless_known(recipe, told)
    status = max(recipe, model, key=(Status.PASS, Status.WARN, Status.FAIL).index)
    loads = told is None or told.loads_bytes is None or min(sizes) >= told.loads_bytes
    only_short = recipe is Status.PASS and model is not Status.PASS and loads
    return Finding(ID, status, facts.host, observed, required, _SHORTER if only_short else _REMEDY)


def _required(needs: HostRequirements) -> Iterator[str]:
    if needs.memory_per_gpu_bytes is not None:
        least = gib(needs.memory_per_gpu_bytes)
        yield f"by the recipe's vram_minimum_gb {least} a GPU to load, and a tenth more for the KV cache"
    told = needs.memory_forecast
    if told is not None and told.loads_bytes is not None:
        yield f"by the memory model {gib(told.loads_bytes)} a GPU for weights and activations ({told.source})"


def _by_recipe(smallest: int, needs: HostRequirements) -> Status:
    needed = needs.memory_per_gpu_bytes
    if needed is None or smallest >= needed * _MARGIN:
        return Status.PASS
    return Status.FAIL if smallest < needed else Status.WARN


def _unless_known(status: Status, told: MemoryForecast | None) -> Status:
    """The recipe's figure, a fifth above the files, only warns where found figures say that it loads and serves."""
    knows = told is not None and told.certain and told.loads_bytes is not None and not told.short
    return Status.WARN if status is Status.FAIL and knows else status


def _by_model(smallest: int, told: MemoryForecast | None) -> Status:
    """What rests on derived figures only warns: vLLM itself will say."""
    if told is None:
        return Status.PASS
    if told.short or (told.loads_bytes is not None and smallest < told.loads_bytes):
        return Status.FAIL if told.certain else Status.WARN
    return Status.PASS


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
    told = [one.memory_forecast for one in needs.hosts if one.gpus]
    if total < minimum * 10**9:
        status = max((_unless_known(Status.FAIL, one) for one in told), key=(Status.WARN, Status.FAIL).index)
        yield Finding(ID, status, "", observed, required, _REMEDY)
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
