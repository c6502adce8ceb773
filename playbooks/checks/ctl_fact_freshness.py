from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "ctl.fact_freshness"
PRIORITY = Priority.P2
WHY = "what was true of a host before a reboot or yesterday decides wrongly today"

OLD_S = 600.0
_REQUIRED = f"facts that are at most {OLD_S / 60:.0f} minutes old"
_REMEDY = "the same command without --replay: it asks the hosts again"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.at is None:
        return (skip(ID, "", "when this is judged is not told"),)
    read = {one.host: facts[one.host].read_at for one in needs.hosts if one.host in facts}
    ages = {host: needs.at - at for host, at in read.items() if at}
    if not ages:
        return (skip(ID, "", "no host tells when it was asked"),)
    old = {host: age for host, age in ages.items() if age > OLD_S}
    if not old:
        return (Finding(ID, Status.PASS, "", f"all hosts were asked at most {max(ages.values()):.0f} s ago"),)
    return tuple(
        Finding(ID, Status.WARN, host, f"asked {in_words(age)} ago", _REQUIRED, _REMEDY) for host, age in old.items()
    )


def in_words(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
