from __future__ import annotations

from inventory.facts.gpu import commands
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.devices import nvidia_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.throttle"
PRIORITY = Priority.P2
WHY = "a GPU that is slowed down by heat or power slows every step of the gang"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = nvidia_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    told = [gpu for gpu in gpus if gpu.health.slowdowns is not None]
    if not told:
        return skip(ID, facts.host, "the driver does not tell why clocks are low")
    slowed = [f"GPU {gpu.index}: {', '.join(gpu.health.slowdowns or ())}" for gpu in told if gpu.health.slowdowns]
    if slowed:
        required = "no slowdown by heat or by the power supply"
        remedy = f"{ON_HOST}{commands.SLOWDOWNS}  # then cooling and power supplies"
        return Finding(ID, Status.WARN, facts.host, "; ".join(slowed), required, remedy)
    return Finding(ID, Status.PASS, facts.host, f"{len(told)} GPUs are not slowed down")
