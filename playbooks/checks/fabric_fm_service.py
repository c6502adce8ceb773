"""The fabric manager runs where the NVSwitches are in the host itself. A compute tray of a rack has none to manage."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import is_amd, is_in_fabric, planned, plans_no_gpu, platform
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "fabric.fm_service"
PRIORITY = Priority.P0
WHY = "without the fabric manager the GPUs of an HGX board never join the NVLink fabric: error 802"

_REQUIRED = "nvidia-fabricmanager is active where the host has NVSwitches"
_START = f"{ON_HOST}sudo systemctl enable --now nvidia-fabricmanager, of exactly the driver's version"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if plans_no_gpu(needs) or is_amd(facts):
        return skip(ID, facts.host, "the plan uses no GPU of NVIDIA here")
    kind = platform(facts)
    if kind == "tray":
        return skip(ID, facts.host, "a tray of a rack: its NVLink switches are managed elsewhere, see fabric.state")
    state = facts.fabric.manager if is_known(facts.fabric) else None
    if state is None:
        return skip(ID, facts.host, "no service manager tells of nvidia-fabricmanager: see fabric.state")
    if kind == "none":
        return without_switches(facts.host, state)
    return with_switches(facts, needs, state)


def without_switches(host: str, state: str) -> Finding:
    if state != "failed":
        return skip(ID, host, "no NVSwitch in this host")
    required = "no failed unit of a service that this host does not need"
    remedy = by_playbook(host, "nvidia", f"{ON_HOST}sudo systemctl disable --now nvidia-fabricmanager")
    return Finding(ID, Status.WARN, host, "nvidia-fabricmanager is failed, and there is no NVSwitch", required, remedy)


def with_switches(facts: HostFacts, needs: HostRequirements, state: str) -> Finding:
    says = facts.fabric.manager_says if is_known(facts.fabric) else None
    observed = f"nvidia-fabricmanager is {state}" + (f": {says}" if says else "")
    if state == "active":
        return Finding(ID, Status.PASS, facts.host, observed)
    gpus = planned(facts, needs)
    if gpus and all(map(is_in_fabric, gpus)):
        return Finding(ID, Status.PASS, facts.host, f"{observed}, and every planned GPU is in the fabric all the same")
    return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, by_playbook(facts.host, "nvidia", _START))
