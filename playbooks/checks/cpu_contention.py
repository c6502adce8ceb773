from __future__ import annotations

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import Busy, HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "cpu.contention"
PRIORITY = Priority.P2
WHY = "the engine core waits busily, and is the first to suffer when others use its cores"

SHARE = 0.25
_LOOK = f"{ON_HOST}top -b -n 1 | head -20  # and move agents and monitoring away"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if isinstance(facts.load, Unknown) or isinstance(facts.cpu, Unknown):
        return skip(ID, facts.host, "the load is not told")
    cores = facts.cpu.physical_cores_machine
    foreign = [one for one in facts.load.busiest if one.pid not in needs.own_pids]
    used = foreign_cores(facts.load.averages[0], foreign, runs_ranks=runs_ranks(facts, needs))
    observed = (
        f"others use {used:.1f} of {cores} physical cores ({', '.join(map(described, foreign[:5])) or 'no list'})"
    )
    if used > SHARE * cores:
        required = f"at most {SHARE:.0%} of the cores used by others"
        return Finding(ID, Status.WARN, facts.host, observed, required, _LOOK)
    return Finding(ID, Status.PASS, facts.host, observed)


def foreign_cores(average: float, foreign: list[Busy], *, runs_ranks: bool) -> float:
    """Cores that others use. The kernel's average tells it as of now; with ranks in it, the list of the others does."""
    listed = sum(one.percent for one in foreign) / 100
    return min(average, listed) if runs_ranks else average


def runs_ranks(facts: HostFacts, needs: HostRequirements) -> bool:
    running = is_known(facts.deployments) and any(one.state == "running" for one in facts.deployments)
    return bool(needs.own_pids) or running


def described(one: Busy) -> str:
    return f"{one.name} {one.percent:.0f} %"
