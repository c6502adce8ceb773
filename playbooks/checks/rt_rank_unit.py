from __future__ import annotations

import re

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts, RunningDeployment
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "rt.rank_unit"
PRIORITY = Priority.P1
WHY = "ranks that share a control group with other work end with it, or take it down when they are stopped"

_REQUIRED = "each deployment in a system unit of its own"
_SESSION = re.compile(r"/(?:user\.slice|user-\d+\.slice|session-[^/]+\.scope)(?:/|$)")


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    look = f"{ON_HOST}cat /proc/PID/cgroup"
    if not is_known(facts.deployments):
        return unread(ID, facts.host, facts.deployments, _REQUIRED, look)
    running = [one for one in facts.deployments if one.cgroups]
    if not running:
        return skip(ID, facts.host, "no deployment runs here")
    verdicts = [of_one(one, facts.deployments) for one in running]
    status, observed = min(verdicts, key=lambda verdict: [Status.FAIL, Status.WARN, Status.PASS].index(verdict[0]))
    if status is Status.PASS:
        return Finding(ID, status, facts.host, observed)
    return Finding(ID, status, facts.host, observed, _REQUIRED, f"start it again as a system unit; {look}")


def of_one(one: RunningDeployment, every: tuple[RunningDeployment, ...]) -> tuple[Status, str]:
    paths = tuple(dict.fromkeys(path for _, path in one.cgroups))
    for other in every:
        shared = sorted(set(paths) & {path for _, path in other.cgroups} - {"/"})
        if other is not one and shared:
            return Status.FAIL, f"{one.name} and {other.name} share {shared[0]}"
    scope = next((path for path in paths if path.endswith(".scope") and not _SESSION.search(path)), None)
    if scope:
        return Status.FAIL, f"{one.name} runs in {scope}: limits cannot be set for a scope"
    session = next((path for path in paths if _SESSION.search(path)), None)
    if session:
        return Status.WARN, f"{one.name} runs in {session}: it ends with the session of its user"
    return Status.PASS, f"{one.name} runs in {paths[0]}"
