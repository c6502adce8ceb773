"""A rank may open the IMEX channel where it is started."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import joins_trays, plans_no_gpu
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "fabric.imex_channel"
PRIORITY = Priority.P0
WHY = "without the channel, memory for NVLink between trays is refused: CUDA_ERROR_NOT_PERMITTED"

CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"
_REQUIRED = f"{CHANNEL} is there and opens for reading and writing where the ranks are started"
_LOOK = f"{ON_HOST}ls -l /dev/nvidia-caps-imex-channels; grep imex /proc/devices"
_CREATE = f"{_LOOK}; options nvidia NVreg_CreateImexChannel0=1 in /etc/modprobe.d, or mknod"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.mnnvl is False:
        return (skip(ID, "", "the plan uses no NVLink between hosts"),)
    hosts = [facts[one.host] for one in needs.hosts if one.host in facts and not plans_no_gpu(one)]
    asked = [one for one in hosts if joins_trays(one, needs)]
    found = tuple(finding for one in asked if (finding := of_host(one, needs)))
    return found or (skip(ID, "", "the plan does not tell that it uses NVLink between hosts"),)


def of_host(facts: HostFacts, needs: Requirements) -> Finding | None:
    """None: nothing tells, and the plan does not ask."""
    opens = opened(facts)
    if opens:
        return Finding(ID, Status.PASS, facts.host, f"{CHANNEL} opens")
    if opens is False:
        observed = f"{CHANNEL} does not open for the run user"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, open_up(needs))
    return of_driver(facts, asked=bool(needs.mnnvl))


def of_driver(facts: HostFacts, *, asked: bool) -> Finding | None:
    """What the driver made, where nobody tried to open the channel."""
    fabric = facts.fabric if is_known(facts.fabric) else None
    if fabric and fabric.imex_device is False:
        return Finding(
            ID, Status.FAIL, facts.host, "the driver made no class of IMEX channels", _REQUIRED, _cure(facts.host)
        )
    if fabric is None or fabric.imex_channels is None:
        observed = "the channels could not be read"
        return Finding(ID, Status.UNKNOWN, facts.host, observed, _REQUIRED, _LOOK) if asked else None
    if 0 not in fabric.imex_channels:
        return Finding(ID, Status.FAIL, facts.host, f"there is no {CHANNEL}", _REQUIRED, _cure(facts.host))
    observed = f"{CHANNEL} is there; whether a rank may open it was not seen"
    return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, _LOOK)


def _cure(host: str) -> str:
    return by_playbook(host, "nvidia", _CREATE)


def opened(facts: HostFacts) -> bool | None:
    """In the launch context; None where it was not looked at or the device is not there."""
    if not is_known(facts.context) or not is_known(facts.context.devices):
        return None
    return next((one.opens for one in facts.context.devices if one.path == CHANNEL), None)


def open_up(needs: Requirements) -> str:
    if needs.container is not None:
        return f"add to the container's arguments: --device {CHANNEL}"
    return f"{ON_HOST}sudo chmod 0666 {CHANNEL}"
