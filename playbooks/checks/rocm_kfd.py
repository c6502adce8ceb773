"""The run user may open /dev/kfd and the render nodes where the ranks would be started. The tools need neither."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Device, HostFacts, LaunchContext
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip, unread
from playbooks.checks.devices import is_amd, plans_no_gpu
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "rocm.kfd"
PRIORITY = Priority.P0
WHY = "the tools of AMD work without these rights, and every rank ends with `Unable to open /dev/kfd`"

_REQUIRED = "the run user opens /dev/kfd and every /dev/dri/renderD* for reading and writing"
_LOOK = f"{ON_HOST}ls -ln /dev/kfd /dev/dri; id"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    context = facts.context if is_known(facts.context) else None
    devices = context.devices if context and is_known(context.devices) else None
    nodes = [one for one in devices or () if one.path == "/dev/kfd" or one.path.startswith("/dev/dri/renderD")]
    if plans_no_gpu(needs) or not (is_amd(facts) or (nodes and not is_known(facts.gpus))):
        return skip(ID, facts.host, "the plan uses no GPU of AMD here")
    if context is None or devices is None:
        if facts.simulated:
            return skip(ID, facts.host, "simulated GPUs have no devices")
        fact = facts.context if context is None else context.devices
        return unread(ID, facts.host, fact, _REQUIRED, _LOOK)  # type: ignore[arg-type]
    if not any(one.path == "/dev/kfd" for one in nodes):
        remedy_of = by_playbook(facts.host, "amd", _LOOK)
        return Finding(ID, Status.FAIL, facts.host, "there is no /dev/kfd", _REQUIRED, remedy_of)
    denied = [one for one in nodes if not one.opens]
    if denied:
        return Finding(
            ID, Status.FAIL, facts.host, observed(denied, context), _REQUIRED, remedy(facts.host, denied, context)
        )
    return Finding(ID, Status.PASS, facts.host, f"{len(nodes)} devices open")


def observed(denied: list[Device], context: LaunchContext) -> str:
    parts = [f"{one.path} ({one.mode or 'mode not told'}, group {one.gid} {one.group})" for one in denied]
    return f"user {context.user or context.uid} with groups {list(context.groups)} may not open {', '.join(parts)}"


def remedy(host: str, denied: list[Device], context: LaunchContext) -> str:
    """In a container names of groups can mean other numbers."""
    gids = sorted({one.gid for one in denied if one.gid is not None})
    if context.where == "container":
        return "add to the container's arguments: " + " ".join(f"--group-add {gid}" for gid in gids)
    groups = sorted({one.group or str(one.gid) for one in denied})
    by_hand = f"{ON_HOST}sudo usermod -aG {quote(','.join(groups))} {quote(context.user or '$USER')}; and log in again"
    return by_playbook(host, "amd", by_hand)
