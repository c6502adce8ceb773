from __future__ import annotations

import re

from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import Priority, skip
from playbooks.checks.devices import planned_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.model"
PRIORITY = Priority.P0
WHY = "a recipe's numbers hold for the GPU that its hardware profile names, not for another one"

_MACHINES = frozenset({"dgx", "spark", "station"})  # words of profiles that name the box, not the GPU


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    if needs.gpu_profile is None:
        return skip(ID, facts.host, "the plan names no hardware profile")
    names = sorted({gpu.name for gpu in gpus})
    observed = f"{len(gpus)} x {', '.join(map(repr, names))}"
    if all(fits(needs.gpu_profile, name) for name in names):
        return Finding(ID, Status.PASS, facts.host, f"{observed}: profile {needs.gpu_profile}")
    required = f"every planned GPU is one of profile {needs.gpu_profile!r}"
    remedy = f"invoke probe --hosts {quote(facts.host)}  # and choose hosts or a --variant that fit"
    return Finding(ID, Status.FAIL, facts.host, observed, required, remedy)


def fits(profile: str, name: str) -> bool:
    """`dgx_spark_gb10` fits "NVIDIA GB10"; `rtx_pro_6000_8x` "NVIDIA RTX PRO 6000 ..."; `h200` no GH200."""
    words = {word for word in profile.lower().split("_") if not re.fullmatch(r"\d+x", word)} - _MACHINES
    return bool(words) and words <= set(re.findall(r"[a-z0-9]+", name.lower()))
