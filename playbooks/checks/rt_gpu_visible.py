"""Whether the ranks are shown exactly the GPUs of the plan, in its order."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Gpu, HostFacts
from playbooks.checks.base import Priority, ranges
from playbooks.checks.devices import planned_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "rt.gpu_visible"
PRIORITY = Priority.P1
WHY = "ranks number the GPUs that they are shown: another set or order puts two on one GPU, or far from their NIC"

VARIABLES = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}
_REMEDY = "take the variable out of env: of the inventory and of the recipe: bringup sets it where it is needed"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    planned = planned_gpus(ID, facts, needs)
    if isinstance(planned, Finding):
        return planned
    assert is_known(facts.gpus)  # noqa: S101  (else there would be no planned ones)
    required = f"GPUs {ranges(needs.gpus)} in this order"
    shown = [gpu.index for gpu in facts.gpus.devices]
    env = dict(needs.env)
    said = [f"{name}={env[name]}" for name in VARIABLES.get(facts.gpus.vendor, ()) if name in env]
    for name in VARIABLES.get(facts.gpus.vendor, ()):
        if name in env:
            selected = select(env[name], [gpu for index in shown for gpu in facts.gpus.devices if gpu.index == index])
            if selected is None:
                observed = f"{name}={env[name]} names a GPU that is not there"
                return Finding(ID, Status.FAIL, facts.host, observed, required, _REMEDY)
            shown = selected
    observed = f"ranks see GPUs {', '.join(map(str, shown)) or 'none'}" + (f" by {', '.join(said)}" if said else "")
    if tuple(shown[: len(needs.gpus)]) == needs.gpus:
        return Finding(ID, Status.PASS, facts.host, observed)
    return Finding(ID, Status.FAIL, facts.host, observed, required, _REMEDY)


def select(value: str, shown: list[Gpu]) -> list[int] | None:
    """The devices that a list of numbers (of those shown so far) or UUIDs leaves, by index; None: one is not there."""
    found: list[int] = []
    for word in filter(None, (part.strip() for part in value.split(","))):
        if word.isdigit():
            one = shown[int(word)] if int(word) < len(shown) else None
        else:
            one = next((gpu for gpu in shown if gpu.uuid.startswith(word)), None)
        if one is None:
            return None
        found.append(one.index)
    return found
