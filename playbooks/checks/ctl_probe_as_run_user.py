"""GPUs are asked by the user who runs the ranks; here, that this user may really open them where ranks start."""

from __future__ import annotations

import re

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import Device, HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.launch_context import place_of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ctl.probe_as_run_user"
PRIORITY = Priority.P2
WHY = "root sees GPUs that the user of the ranks may not open"

GPU = re.compile(r"/dev/nvidia(?:\d+|ctl|-uvm)")
_REQUIRED = "the user of the ranks opens every GPU that was found"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if isinstance(facts.context, Unknown) or isinstance(facts.system, Unknown):
        return skip(ID, facts.host, "the user where ranks start was not looked at")
    asked, runs = facts.system.user, facts.context.user
    if runs and runs != asked:
        remedy = f"{ON_HOST}sudo -u {quote(runs)} id; then let the login be that user"
        return Finding(ID, Status.FAIL, facts.host, f"asked as {asked}, ranks run as {runs}", _REQUIRED, remedy)
    denied = denied_devices(facts)
    if denied and needs.gpus:
        first = denied[0]
        observed = f"{asked} may not open {', '.join(one.path for one in denied)} in {place_of(facts)}"
        remedy = f"{ON_HOST}ls -l {quote(first.path)}; id {quote(asked)}  # group {first.group or first.gid}"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, remedy)
    return Finding(ID, Status.PASS, facts.host, f"asked as {asked}, who runs the ranks too")


def denied_devices(facts: HostFacts) -> list[Device]:
    """Device files of GPUs that the tool found and that do not open."""
    if not (
        is_known(facts.context) and is_known(facts.context.devices) and is_known(facts.gpus) and facts.gpus.devices
    ):
        return []
    return [one for one in facts.context.devices if GPU.fullmatch(one.path) and not one.opens]
