"""Errors that the GPUs themselves reported to the kernel since boot.

The codes by tier: NVIDIA, "Xid Errors" (r580). 48 and 94/95 are memory errors that ECC could not correct, 64 and 63
concern the remapping of rows, 74 and 149 NVLink, 79 the bus, 119/120 the GPU's own processor, 154 asks for recovery.
13, 31, 43 and 45 come from the application.
"""

from __future__ import annotations

from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.host import Gpu, HostFacts, Xid
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.devices import is_amd, planned, plans_no_gpu
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.xid"
PRIORITY = Priority.P1
WHY = "a GPU that has reported a hardware error hangs or fails again, often hours later and in another rank's log"

TIERS = {
    48: "reboot the host; if it comes back, replace the GPU",
    63: "reboot the host: rows are waiting to be remapped",
    64: "replace the GPU: a row could not be remapped",
    74: "isolate the host: an NVLink failed",
    79: "power cycle the host; if it comes back, replace the GPU",
    94: "restart what ran on the GPU, then reset it",
    95: "reset the GPU or reboot the host",
    119: "reboot the host: the GPU's own processor does not answer",
    120: "reboot the host: the GPU's own processor failed",
    149: "isolate the host: an NVLink failed",
    154: "do what the driver asks for: see gpu.recovery_action",
}
OF_APPLICATIONS = frozenset({13, 31, 43, 45})
RECENT_S = 3600.0
_REQUIRED = "no hardware error of a planned GPU since boot"
_LOOK = f"{ON_HOST}sudo dmesg -T | grep -A 2 -E 'NVRM: Xid|fallen off the bus' | tail -20"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if plans_no_gpu(needs) or is_amd(facts):
        return skip(ID, facts.host, "the plan uses no GPU of NVIDIA here")
    if not is_known(facts.xids):
        return unread_log(facts.host, facts.xids)
    grave = [one for one in facts.xids if is_grave(one, facts)]
    own = [one for one in grave if concerns(one, facts, needs)]
    if own:
        remedy = f"{TIERS.get(own[-1].code or 79, '')}; to look: {_LOOK}"
        return Finding(ID, Status.FAIL, facts.host, listed(own), _REQUIRED, remedy)
    recent = [one for one in facts.xids if one.code in OF_APPLICATIONS and (one.age_s or 0.0) < RECENT_S]
    if grave or recent:
        return Finding(ID, Status.WARN, facts.host, listed(grave or recent), _REQUIRED, _LOOK)
    return Finding(ID, Status.PASS, facts.host, "the kernel's log has no such error")


def unread_log(host: str, fact: Unknown) -> Finding:
    """That a log may not be read stops no deployment; it is said where it can be cured."""
    if fact.why is Why.REFUSED:
        remedy = f"{ON_HOST}sudo usermod -aG adm,systemd-journal $USER  # and log in again"
        return Finding(ID, Status.WARN, host, f"the kernel's log may not be read: {fact.detail}", _REQUIRED, remedy)
    return skip(ID, host, f"the kernel's log was not read: {fact}")


def is_grave(one: Xid, facts: HostFacts) -> bool:
    """63 alone says that a row was remapped: only one that still waits for a reset matters."""
    if one.code == 63:
        gpu = device_of(one, facts)
        return gpu is None or gpu.health.remap_pending is not False
    return one.code is None or one.code in TIERS


def device_of(one: Xid, facts: HostFacts) -> Gpu | None:
    devices = facts.gpus.devices if is_known(facts.gpus) else ()
    return next((gpu for gpu in devices if slot(gpu.pci_address) == slot(one.gpu)), None)


def slot(address: str) -> str:
    """`9c:00` with its domain as a number: the kernel writes four digits of it, the tool eight."""
    domain, _, rest = address.partition(".")[0].lower().partition(":")
    return f"{domain.lstrip('0')}:{rest}"


def concerns(one: Xid, facts: HostFacts, needs: HostRequirements) -> bool:
    """A GPU that is not shown any more may be a planned one."""
    gpu = device_of(one, facts)
    return gpu is None or gpu in planned(facts, needs)


def listed(errors: list[Xid]) -> str:
    """The last three, with the GPU's place on the bus."""
    shown = [
        f"Xid {one.code} on {one.gpu}: {one.text}" if one.code else f"{one.gpu}: {one.text}" for one in errors[-3:]
    ]
    more = f" ({len(errors) - 3} more before)" if len(errors) > 3 else ""
    return "; ".join(shown) + more
