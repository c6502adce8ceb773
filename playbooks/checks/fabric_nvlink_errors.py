from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.gpu import commands
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "fabric.nvlink_errors"
PRIORITY = Priority.P2
WHY = "errors that grow on an NVLink are often followed by an Xid 149 or 74 on it"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not is_known(facts.nvlink_errors) or not facts.nvlink_errors:
        return skip(ID, facts.host, "no NVLink tells error counters")
    before = counters(needs.earlier)
    if not before:
        return skip(ID, facts.host, "no earlier record to compare with")
    grown = [
        f"GPU {one.gpu}: {one.errors} errors, {before[one.gpu]} on the last record"
        for one in facts.nvlink_errors
        if one.gpu in before and one.errors > before[one.gpu]
    ]
    if grown:
        required = "no new errors on NVLinks since the last record"
        remedy = f"{ON_HOST}{commands.LINK_ERRORS}  # note the link; leave the host out if an Xid follows"
        return Finding(ID, Status.WARN, facts.host, "; ".join(grown), required, remedy)
    return Finding(ID, Status.PASS, facts.host, "no new errors since the last record")


def counters(earlier: HostFacts | None) -> dict[int, int]:
    if earlier is None or not is_known(earlier.nvlink_errors):
        return {}
    return {one.gpu: one.errors for one in earlier.nvlink_errors}
