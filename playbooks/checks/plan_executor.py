from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.argv import options
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.executor"
PRIORITY = Priority.P1
WHY = "the default executor has changed between releases; over several hosts the wrong one waits for Ray"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    rendered = [one for one in needs.hosts if one.argv]
    if not rendered:
        return (skip(ID, "", "the plan renders no command"),)
    found = {one.host: options(one.argv).get("--distributed-executor-backend") for one in rendered}
    lacking = [host for host, value in found.items() if value is None]
    if lacking:
        observed = f"--distributed-executor-backend is not set on {', '.join(lacking)}"
        remedy = "--set distributed-executor-backend=mp"
        return (Finding(ID, Status.WARN, "", observed, "the executor is named in the command", remedy),)
    return (Finding(ID, Status.PASS, "", f"the executor is {', '.join(sorted({str(one) for one in found.values()}))}"),)
