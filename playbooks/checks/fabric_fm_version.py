from __future__ import annotations

import re

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import is_amd, plans_no_gpu, platform
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "fabric.fm_version"
PRIORITY = Priority.P1
WHY = "a fabric manager of another version than the driver, be it the last number, does not start"

MISMATCH = re.compile(r"interface version (\S+) don't match with driver version (\S+?)\.?(?:\s|$)")


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if plans_no_gpu(needs) or is_amd(facts):
        return skip(ID, facts.host, "the plan uses no GPU of NVIDIA here")
    if platform(facts) == "tray" or has_no_switch(facts):
        return skip(ID, facts.host, "no NVSwitch in this host")
    manager, driver = versions(facts)
    if manager is None or driver is None:
        return skip(ID, facts.host, "the version of the fabric manager or of the driver is not told")
    observed = f"fabric manager {manager}, driver {driver}"
    if manager == driver:
        return Finding(ID, Status.PASS, facts.host, observed)
    required = f"fabric manager {driver}"
    by_hand = f"{ON_HOST}install nvidia-fabricmanager of version {driver}, hold it, and restart it"
    remedy = by_playbook(facts.host, "nvidia", by_hand)
    return Finding(ID, Status.FAIL, facts.host, observed, required, remedy)


def has_no_switch(facts: HostFacts) -> bool:
    """The bus was read and shows none; on newer boards they are not devices of NVIDIA there."""
    return is_known(facts.fabric) and facts.fabric.switches == 0 and platform(facts) == "none"


def versions(facts: HostFacts) -> tuple[str | None, str | None]:
    """Of the fabric manager and of the driver; the manager's own log tells both where it complains."""
    fabric = facts.fabric if is_known(facts.fabric) else None
    logged = MISMATCH.search((fabric.manager_says if fabric else None) or "")
    told = facts.driver.module if is_known(facts.driver) else None
    driver = told or (facts.gpus.driver if is_known(facts.gpus) else None)
    manager = fabric.manager_version if fabric else None
    return manager or (logged[1] if logged else None), driver or (logged[2] if logged else None)
