from __future__ import annotations

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, ranges
from playbooks.checks.devices import planned_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.mig"
PRIORITY = Priority.P1
WHY = "a rank that is given a partitioned GPU sees a slice of it, or nothing"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    cut = [gpu.index for gpu in gpus if gpu.mig_enabled]
    if not cut:
        return Finding(ID, Status.PASS, facts.host, "no planned GPU is partitioned")
    remedy = "choose other GPUs, or see the runbook: turning MIG off ends every process on the GPU"
    observed = f"MIG is enabled on GPU {ranges(cut)}"
    return Finding(ID, Status.FAIL, facts.host, observed, "MIG is off on every planned GPU", remedy)
