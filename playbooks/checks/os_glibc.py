from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Unknown, Why
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "os.glibc"
PRIORITY = Priority.P1
WHY = "the wheel does not install, or its libraries do not load"

OLDEST = "2.28"  # of the tag manylinux_2_28, which vLLM's wheels have
_REMEDY = "choose hosts with a newer distribution, or run the ranks in a container"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is not None:
        return (skip(ID, "", "ranks in a container use the C library of the image"),)
    oldest = needs.build.glibc or OLDEST
    return tuple(_of_host(facts[one.host], oldest) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, oldest: str) -> Finding:
    required = f"glibc {oldest} or newer, for the pinned wheels"
    if isinstance(facts.glibc, Unknown):
        if facts.glibc.why is Why.UNREADABLE and "musl" in facts.glibc.detail:
            return Finding(ID, Status.FAIL, facts.host, facts.glibc.detail, required, _REMEDY)
        return skip(ID, facts.host, f"the C library is {facts.glibc}; {ON_HOST}ldd --version")
    if numbers(facts.glibc) < numbers(oldest):
        return Finding(ID, Status.FAIL, facts.host, f"glibc {facts.glibc}", required, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, f"glibc {facts.glibc}")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
