from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.argv import options
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.restart_policy"
PRIORITY = Priority.P1
WHY = "an engine that dies ends with status 0, and a rank that comes back alone is never taken in by its group"

NEVER = ("no", None)
_REMEDY = "Restart=no in the unit, no --restart for the container; the group is restarted by: invoke restart"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    policies = {one.host: one.restart for one in needs.hosts if one.restart is not None}
    container = options(needs.container.arguments or ()).get("--restart") if needs.container else None
    if not policies and container is None:
        return (skip(ID, "", "the plan tells no restart policy"),)
    required = "no restart of one rank: the gang is the unit"
    wrong = {host: policy for host, policy in policies.items() if policy not in NEVER}
    findings = [
        Finding(ID, Status.FAIL, host, f"the unit has Restart={policy}", required, _REMEDY)
        for host, policy in wrong.items()
    ]
    if container not in NEVER:
        observed = f"the container has --restart {container}: it comes back alone after a reboot"
        findings.append(Finding(ID, Status.WARN, "", observed, required, _REMEDY))
    return tuple(findings) or (Finding(ID, Status.PASS, "", "no rank is restarted alone"),)
