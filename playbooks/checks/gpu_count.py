from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, ranges, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.count"
PRIORITY = Priority.P0
WHY = "a GPU that fell off the bus takes its rank, and with it the whole gang"

_LOOK = f"{ON_HOST}sudo dmesg | grep -iE 'nvrm|xid|amdgpu|fallen off' | tail -20"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.gpus:
        return skip(ID, facts.host, "the plan uses no GPU here")
    required = f"GPUs {ranges(needs.gpus)} are there"
    if not is_known(facts.gpus):
        return unread(ID, facts.host, facts.gpus, required, _LOOK)
    there = [gpu.index for gpu in facts.gpus.devices]
    observed = f"the driver shows {len(there)} GPUs: {ranges(there)}"
    if set(needs.gpus) <= set(there):
        return Finding(ID, Status.PASS, facts.host, observed)
    return Finding(ID, Status.FAIL, facts.host, observed, required, _LOOK)
