from __future__ import annotations

from inventory.facts.gpu import commands
from inventory.facts.host import Gpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.devices import nvidia_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "fabric.health"
PRIORITY = Priority.P1
WHY = "a GPU can be in the fabric with part of its paths down: collectives over it are slow, hang or crash"

WELL = frozenset({"healthy", "full", "false", "none", "no", "not supported", "true_assigned"})
RECOVERING = frozenset({"route_recovery_in_progress", "access_timeout_recovery"})
IGNORED = frozenset({"partition_assigned"})  # true is well there, and fabric.state tells of what is not
_REQUIRED = "fabric health: summary Healthy, bandwidth Full, no route unhealthy or in recovery"
_REMEDY = f"{ON_HOST}{commands.FABRIC}  # leave the host out; a stop-gap is NCCL_MNNVL_ENABLE=0"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = nvidia_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    told = [gpu for gpu in gpus if gpu.health.fabric_health]
    if not told:
        return skip(ID, facts.host, "the GPUs tell no health of a fabric")
    recovering = [(gpu, text) for gpu in told for text in complaints(gpu, recovering=True)]
    wrong = [(gpu, text) for gpu in told for text in complaints(gpu, recovering=False)]
    if wrong or recovering:
        observed = "; ".join(f"GPU {gpu.index}: {text}" for gpu, text in wrong or recovering)
        status = Status.FAIL if wrong and not softened(wrong, recovering) else Status.WARN
        return Finding(ID, status, facts.host, observed, _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, f"{len(told)} GPUs: healthy")


def complaints(gpu: Gpu, *, recovering: bool) -> list[str]:
    """`bandwidth Degraded`, `route unhealthy True`, ..."""
    entries = (entry for entry in gpu.health.fabric_health if entry[0] not in IGNORED)
    return [
        f"{name.replace('_', ' ')} {said}"
        for name, said in entries
        if said.lower() not in WELL and (name in RECOVERING) is recovering
    ]


def softened(wrong: list[tuple[Gpu, str]], recovering: list[tuple[Gpu, str]]) -> bool:
    """`Limited Capacity` is less than unhealthy: a GPU that works with fewer paths, or while they recover."""
    return all(text.startswith("summary Limited") for _, text in wrong) or (
        bool(recovering) and all(text.startswith("summary Unhealthy") for _, text in wrong)
    )
