from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Gpus, HostFacts
from playbooks.checks.base import ON_HOST, Priority, ranges, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.count"
PRIORITY = Priority.P0
WHY = "a GPU that fell off the bus takes its rank, and with it the whole gang"

_ALL_SHOWN = "the driver shows every GPU that is on the bus"
_LOOK = f"{ON_HOST}sudo dmesg | grep -iE 'nvrm|xid|amdgpu|fallen off' | tail -20"

_REMEDY = f"{_LOOK}  # drain the host and reboot it; if it comes back, replace the GPU"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.gpus and needs.processes.total:
        return skip(ID, facts.host, "the plan uses no GPU here")
    required = f"{len(needs.gpus)} GPUs are there: {ranges(needs.gpus)}"
    if not is_known(facts.gpus):
        return unread(ID, facts.host, facts.gpus, required, _LOOK)
    there = [gpu.index for gpu in facts.gpus.devices]
    observed = f"the driver shows {len(there)} GPUs: {ranges(there)}"
    if not set(needs.gpus) <= set(there):
        return Finding(ID, Status.FAIL, facts.host, f"{observed}{hidden(facts.gpus)}", required, _REMEDY)
    if facts.gpus.hidden:
        status = Status.WARN if in_container(facts) else Status.FAIL
        return Finding(ID, status, facts.host, f"{observed}{hidden(facts.gpus)}", _ALL_SHOWN, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, observed)


def hidden(gpus: Gpus) -> str:
    return f"; on the bus but not shown: {', '.join(gpus.hidden)}" if gpus.hidden else ""


def in_container(facts: HostFacts) -> bool:
    """Who is given some of a machine's GPUs sees all of them on the bus."""
    return is_known(facts.software) and facts.software.container is not None
