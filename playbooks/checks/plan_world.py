from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.world"
PRIORITY = Priority.P0
WHY = "ranks that have no GPU of their own fail at start, and GPUs without a rank stand idle unseen"

_REMEDY = "invoke plan --model MODEL --hosts HOSTS  # choose other hosts, or another strategy (--strategy)"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    layout = needs.layout
    counts = [len(one.gpus) for one in needs.hosts]
    if layout.data_parallel is None or layout.tensor_parallel is None or not any(counts):
        return (skip(ID, "", "the plan uses no GPU, or does not tell how its ranks are cut"),)
    tensor, pipeline, data = layout.tensor_parallel, layout.pipeline_parallel or 1, layout.data_parallel
    world, total = data * tensor * pipeline, sum(counts)
    sum_text = f"DP {data} x TP {tensor} x PP {pipeline} = {world}"
    required = f"{sum_text} is the number of planned GPUs, and each rank has as many on every host that it spans"
    wrong = [] if world == total else [f"{sum_text}, planned are {' + '.join(map(str, counts))} = {total} GPUs"]
    wrong += uneven(counts, tensor * pipeline)
    if wrong:
        return (Finding(ID, Status.FAIL, "", "; ".join(wrong), required, _REMEDY),)
    return (Finding(ID, Status.PASS, "", f"{sum_text}: {' + '.join(map(str, counts))} GPUs"),)


def uneven(counts: list[int], per_rank: int) -> list[str]:
    """Hosts whose GPUs do not divide into ranks, or ranks whose hosts give them unequal shares."""
    most = max(counts)
    if per_rank > most:
        even = len(set(counts)) == 1 and per_rank % most == 0
        return [] if even else [f"a rank of {per_rank} GPUs spans hosts with {', '.join(map(str, counts))}"]
    return [f"{count} GPUs of a host do not divide into ranks of {per_rank}" for count in counts if count % per_rank]
