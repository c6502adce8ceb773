from __future__ import annotations

from inventory.facts.host import Gpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority, foreign_processes, planned_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.owners"
PRIORITY = Priority.P0
WHY = "another process on a planned GPU takes memory and time that the plan has already given away"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    busy = [(gpu, foreign_processes(gpu, needs)) for gpu in gpus]
    observed = "; ".join(f"GPU {gpu.index}: {', '.join(owners)}" for gpu, owners in busy if owners)
    if not observed:
        return Finding(ID, Status.PASS, facts.host, f"{len(gpus)} planned GPUs without foreign processes")
    required = "no foreign process on a planned GPU"
    return Finding(ID, Status.FAIL, facts.host, observed, required, remedy(gpus, needs))


def remedy(gpus: tuple[Gpu, ...], needs: HostRequirements) -> str:
    pids = sorted({p.pid for gpu in gpus for p in gpu.processes if p.pid not in needs.own_pids})
    return f"{ON_HOST}ps -o pid,ppid,user,lstart,cmd -p {','.join(map(str, pids))}  # stop them by their owner"
