"""The driver answers. The id is NVIDIA's word; of an AMD driver the same is asked."""

from __future__ import annotations

from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.host import Gpus, HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip, unread
from playbooks.checks.devices import driver_playbook
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.nvml"
PRIORITY = Priority.P0
WHY = "when the driver does not answer, no rank can start and the probe itself may hang"

_REQUIRED = "the GPU driver answers"
_LOOK = f"{ON_HOST}sudo dmesg | grep -iE 'nvrm|xid|amdgpu' | tail -20"
_REBOOT = f"{ON_HOST}sudo reboot  # after draining it"
_LIBRARY = f"{ON_HOST}ldconfig -p | grep -E 'libnvidia-ml|libcuda', and install the driver again"
_LOAD = f"{ON_HOST}sudo modprobe nvidia || dkms status"
_REINSTALL = (_LIBRARY, _LOAD)
# What the facts say of a driver that is known to be broken -> what helps. The first that is found counts.
_BROKEN = (
    ("version mismatch", _REBOOT),  # a library newer than the loaded module
    ("library_mismatch", _REBOOT),
    ("fallen_off_bus", _REBOOT),
    ("gpu_lost", _REBOOT),
    ("no_devices", _LOOK),
    ("nvml_unknown_error", "start the container of this host again, see the runbook"),
    ("unknown error", _REBOOT),
    ("no_permission", f"{ON_HOST}ls -l /dev/nvidia* /dev/kfd /dev/dri; id"),
    ("library_missing", _LIBRARY),
    ("not_loaded", _LOAD),
    ("communicate", _LOAD),
    ("nvml_failed", _LOOK),
)


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.gpus and needs.processes.total:
        return skip(ID, facts.host, "the plan uses no GPU here")
    if not isinstance(facts.gpus, Unknown):
        return state(facts.host, facts.gpus)
    remedy = cure(facts.gpus)
    if remedy is None:
        look = by_playbook(facts.host, driver_playbook(facts), _LOOK) if has_no_driver(facts) else _LOOK
        return unread(ID, facts.host, facts.gpus, _REQUIRED, look)
    if remedy in _REINSTALL:
        remedy = by_playbook(facts.host, driver_playbook(facts), remedy)
    said = facts.gpus.detail or facts.gpus.why
    return Finding(ID, Status.FAIL, facts.host, f"the driver does not answer: {said}", _REQUIRED, remedy)


def has_no_driver(facts: HostFacts) -> bool:
    """GPUs on the bus, and nothing that asks them."""
    silent = isinstance(facts.gpus, Unknown) and facts.gpus.why is Why.MISSING_TOOL
    return silent and is_known(facts.bus_gpus) and bool(facts.bus_gpus)


def cure(unknown: Unknown) -> str | None:
    """What helps against a driver that is known not to answer; None when only our reading of it failed."""
    said = unknown.detail.lower()
    named = next((remedy for words, remedy in _BROKEN if words in said), None)
    return named or (_LOOK if unknown.why in {Why.REFUSED, Why.TIMED_OUT} else None)


def state(host: str, gpus: Gpus) -> Finding:
    if gpus.vendor == "none":
        look = f"{ON_HOST}lspci -nn | grep -iE '3d|vga|display'"
        return Finding(ID, Status.FAIL, host, "no GPU and no driver", _REQUIRED, look)
    if gpus.driver is None and not any(gpu.uuid for gpu in gpus.devices):  # only its tool tells a UUID
        remedy = by_playbook(host, gpus.vendor, _LOOK)
        return Finding(ID, Status.FAIL, host, f"{gpus.vendor} device without a driver", _REQUIRED, remedy)
    simulated = " (simulated)" if gpus.simulated else ""
    return Finding(
        ID,
        Status.PASS,
        host,
        f"{gpus.vendor} driver {gpus.driver or 'that answers'}, {len(gpus.devices)} GPUs{simulated}",
    )
