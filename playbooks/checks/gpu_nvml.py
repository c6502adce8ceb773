"""The driver answers. The id is NVIDIA's word; of an AMD driver the same is asked."""

from __future__ import annotations

from inventory.facts.base import Why, is_known
from inventory.facts.host import Gpus, HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.nvml"
PRIORITY = Priority.P0
WHY = "when the driver does not answer, no rank can start and the probe itself may hang"

_REQUIRED = "the GPU driver answers"
_LOOK = f"{ON_HOST}sudo dmesg | grep -iE 'nvrm|amdgpu' | tail -20"
_REBOOT = f"{ON_HOST}sudo reboot"
# The driver's own words -> what helps. A library newer than the loaded module is cured by a reboot only.
_SAID = (("version mismatch", _REBOOT), ("communicate", _LOOK), ("Unknown Error", _REBOOT))


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.gpus:
        return skip(ID, facts.host, "the plan uses no GPU here")
    if is_known(facts.gpus):
        return state(facts.host, facts.gpus)
    if facts.gpus.why not in {Why.REFUSED, Why.TIMED_OUT}:
        return unread(ID, facts.host, facts.gpus, _REQUIRED, _LOOK)
    said = facts.gpus.detail or facts.gpus.why
    remedy = next((cure for words, cure in _SAID if words.lower() in said.lower()), _LOOK)
    return Finding(ID, Status.FAIL, facts.host, f"the driver does not answer: {said!r}", _REQUIRED, remedy)


def state(host: str, gpus: Gpus) -> Finding:
    if gpus.vendor == "none":
        look = f"{ON_HOST}lspci -nn | grep -iE '3d|vga|display'"
        return Finding(ID, Status.FAIL, host, "no GPU and no driver", _REQUIRED, look)
    if gpus.driver is None:
        return Finding(ID, Status.FAIL, host, f"{gpus.vendor} device without a driver", _REQUIRED, _LOOK)
    simulated = " (simulated)" if gpus.simulated else ""
    return Finding(ID, Status.PASS, host, f"{gpus.vendor} driver {gpus.driver}, {len(gpus.devices)} GPUs{simulated}")
