from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, gb, skip
from playbooks.checks.file_systems import holding
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.log_space"
PRIORITY = Priority.P2
WHY = "a full disk takes the log with it, and with the log the reason"

_LEAST = 5 * 2**30


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    path = next((one.path for one in needs.space if one.purpose == "state"), None)
    if path is None or not is_known(facts.file_systems):
        return skip(ID, facts.host, "the plan does not tell where logs go, or no file system was read: see sto.space")
    system = holding(facts.file_systems, path)
    if system is None:
        return skip(ID, facts.host, f"no file system was asked for {path}: see sto.space")
    observed = f"{gb(system.free_bytes)} free on {system.mount}, where logs go"
    if system.free_bytes >= _LEAST:
        return Finding(ID, Status.PASS, facts.host, observed)
    remedy = f"{ON_HOST}sudo du -sh {quote(path)}/deployments/*/*/log* | sort -h  # and remove old ones"
    return Finding(ID, Status.WARN, facts.host, observed, f"{gb(_LEAST)} for logs", remedy)
