from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "rdma.rail"
PRIORITY = Priority.P2
WHY = "where a NIC reaches only its own rail, NCCL that crosses rails waits for connections that never come"

VARIABLE = "NCCL_CROSS_NIC"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if not needs.rail:
        return (skip(ID, "", "the plan names no rail fabric"),)
    other = [one.host for one in needs.hosts if dict(one.env).get(VARIABLE) != "0"]
    if other:
        observed = f"{VARIABLE} is not 0 on {', '.join(other)}"
        return (Finding(ID, Status.WARN, "", observed, f"{VARIABLE}=0 on a rail fabric", f"add {VARIABLE}=0 to env"),)
    return (Finding(ID, Status.PASS, "", f"{VARIABLE}=0 on {len(needs.hosts)} hosts"),)
