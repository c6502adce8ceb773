from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.argv import number, options
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.drain"
PRIORITY = Priority.P2
WHY = "without a drain every request that is running when the deployment stops is cut off"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    serving = [told for one in needs.hosts if one.argv and "--headless" not in (told := options(one.argv))]
    if not serving and needs.shutdown_timeout_s is None:
        return (skip(ID, "", "the plan renders no command that serves"),)
    seconds = [number(told, "--shutdown-timeout") or 0 for told in serving] or [needs.shutdown_timeout_s or 0]
    if min(seconds) > 0:
        return (Finding(ID, Status.PASS, "", f"running requests have {min(seconds)} s to end"),)
    remedy = "--set shutdown-timeout=60  # seconds that running requests get"
    return (Finding(ID, Status.WARN, "", "--shutdown-timeout is 0, the default", "some seconds to drain", remedy),)
