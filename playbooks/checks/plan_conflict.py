from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts, RunningDeployment
from playbooks.checks.base import Priority, pids_of, ranges, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "plan.conflict"
PRIORITY = Priority.P0
WHY = "two deployments on the same GPUs or ports take each other's memory or answer each other's requests"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    return tuple(_of_host(facts[one.host], one, needs.name) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, needs: HostRequirements, name: str) -> Finding:
    required = "no other deployment of bringup holds the planned GPUs or ports"
    if not is_known(facts.deployments):
        return unread(ID, facts.host, facts.deployments, required, "invoke status --hosts HOSTS")
    others = [one for one in facts.deployments if one.name != name and one.state in {"running", "partial"}]
    clashes = [(one, held) for one in others if (held := clash(one, facts, needs))]
    if not clashes:
        seen = f"{', '.join(one.name for one in others)} run beside it" if others else "no other deployment runs here"
        return Finding(ID, Status.PASS, facts.host, seen)
    observed = "; ".join(f"{one.name} holds {held}" for one, held in clashes)
    remedy = f"invoke stop --name {clashes[0][0].name} --hosts {facts.host}  # or choose other hosts, or --port"
    return Finding(ID, Status.FAIL, facts.host, observed, required, remedy)


def clash(other: RunningDeployment, facts: HostFacts, needs: HostRequirements) -> str:
    """What of the plan the processes of `other` hold, in words; empty for nothing."""
    devices = facts.gpus.devices if is_known(facts.gpus) else ()
    gpus = {g.index for g in devices if g.index in needs.gpus for p in g.processes if p.pid in other.pids}
    listeners = facts.listeners if is_known(facts.listeners) else ()
    ports = {one.port for one in listeners if one.port in needs.ports and pids_of(one) & set(other.holders)}
    parts = [f"GPU {ranges(gpus)}"] if gpus else []
    parts += [f"port {ranges(ports)}"] if ports else []
    return " and ".join(parts)
