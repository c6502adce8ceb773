from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts, Limit
from playbooks.checks.base import Priority, skip
from playbooks.checks.launch_context import LOOK, could_not_be_read, part_of, place_of, raise_limit
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "os.nofile"
PRIORITY = Priority.P1
WHY = "every client and every rank takes descriptors: under load the API server answers `Too many open files`"

WANTED = 65535  # vLLM 0.33.0 asks for this soft limit and gives up when the hard one is lower
LEAST = 8192
_REQUIRED = f"a hard limit of open files of at least {WANTED}, or a soft one of {LEAST}"


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    limit = part_of(facts, lambda context: context.open_files)
    if isinstance(limit, Unknown):
        if could_not_be_read(limit):
            return Finding(ID, Status.WARN, facts.host, str(limit), _REQUIRED, LOOK)
        return skip(ID, facts.host, "the limit of open files where ranks start was not looked at")
    observed = f"open files {number(limit.soft)} soft, {number(limit.hard)} hard in {place_of(facts)}"
    if limit.hard is None or limit.hard >= WANTED:
        return Finding(ID, Status.PASS, facts.host, observed)
    status = Status.WARN if reaches(limit) else Status.FAIL
    remedy = raise_limit(facts, "nofile", docker="nofile=1048576", number="1048576")
    return Finding(ID, status, facts.host, observed, _REQUIRED, remedy)


def reaches(limit: Limit) -> bool:
    return limit.soft is None or limit.soft >= LEAST


def number(limit: int | None) -> str:
    return "unlimited" if limit is None else str(limit)
