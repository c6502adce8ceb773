"""Every GPU has been taken into the NVLink fabric: both its state and its status say so."""

from __future__ import annotations

from inventory.facts.gpu import commands
from inventory.facts.host import Gpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import is_in_fabric, nvidia_gpus, of, platform
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "fabric.state"
PRIORITY = Priority.P0
WHY = "on a GPU that the NVLink fabric has not taken in CUDA fails with error 802, while its tool looks healthy"

ABSENT = frozenset({None, "Not Supported"})
_REQUIRED = "fabric state Completed and status Success on every planned GPU"
_LOOK = f"{ON_HOST}{commands.FABRIC}"
_CURE = {
    "tray": f"{_LOOK}  # the rack's NVLink switches and NMX first; then reboot the tray",
    "board": f"{_LOOK}; systemctl status nvidia-fabricmanager; journalctl -u nvidia-fabricmanager -b | tail",
    "none": f"{_LOOK}  # wait 5 minutes at most, then look at the fabric manager",
}


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = nvidia_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    kind = platform(facts)
    told = [gpu for gpu in gpus if gpu.health.fabric_state not in ABSENT]
    if kind == "none" and not told:
        return skip(ID, facts.host, "no NVSwitch and no fabric on this host")
    if kind == "board" and all(gpu.health.fabric_state is None for gpu in gpus):
        return skip(ID, facts.host, "this driver or GPU tells no fabric state")
    bad = tuple(gpu for gpu in gpus if not is_in_fabric(gpu))
    if not bad:
        return Finding(ID, Status.PASS, facts.host, f"{len(gpus)} GPUs: Completed, Success")
    status = Status.FAIL if any(is_refuted(gpu) for gpu in bad) else Status.UNKNOWN
    remedy = by_playbook(facts.host, "nvidia", _CURE[kind]) if kind == "board" else _CURE[kind]
    return Finding(ID, status, facts.host, "; ".join(map(said, bad)), _REQUIRED, remedy)


def is_refuted(gpu: Gpu) -> bool:
    """What is told is wrong; a driver that tells the state alone leaves the status open."""
    state, status = gpu.health.fabric_state, gpu.health.fabric_status
    return state not in {None, "Completed"} or status not in {None, "Success"}


def said(gpu: Gpu) -> str:
    health = gpu.health
    return f"{of((gpu,))}: state {health.fabric_state or 'not told'}, status {health.fabric_status or 'not told'}"
