"""Which GPUs a check looks at, and what kind of machine holds them: the GPUs' names and the bus decide."""

from __future__ import annotations

import re
from typing import Literal

from inventory.facts.base import is_known
from inventory.facts.host import Gpu, Gpus, HostFacts
from playbooks.checks.base import ON_HOST, skip, unread
from playbooks.finding import Finding
from playbooks.requirements import HostRequirements, Requirements

TRAY = re.compile(r"\bGB[23]00\b")
NVLINK5_BOARD = re.compile(r"(?<![A-Z])B[23]00\b")
Platform = Literal["tray", "board", "none"]


def plans_no_gpu(needs: HostRequirements) -> bool:
    """The plan starts processes here, none of which uses a GPU. A plan that tells nothing does not say so."""
    return not needs.gpus and needs.processes.total > 0


def planned(facts: HostFacts, needs: HostRequirements) -> tuple[Gpu, ...]:
    """The devices that the plan uses: all that are there where it names none."""
    if not is_known(facts.gpus) or plans_no_gpu(needs):
        return ()
    return tuple(gpu for gpu in facts.gpus.devices if gpu.index in needs.gpus or not needs.gpus)


def planned_gpus(check: str, facts: HostFacts, needs: HostRequirements) -> tuple[Gpu, ...] | Finding:
    """The devices that the plan uses (all, where it tells nothing of this host), or why there is nothing to compare."""
    if plans_no_gpu(needs):
        return skip(check, facts.host, "the plan uses no GPU here")
    if not is_known(facts.gpus):
        look = f"{ON_HOST}sudo dmesg | grep -iE 'nvrm|amdgpu' | tail -20"
        return unread(check, facts.host, facts.gpus, "the GPUs of the plan can be read", look)
    return planned(facts, needs) or skip(check, facts.host, "none of the planned GPUs is there: see gpu.count")


def nvidia_gpus(check: str, facts: HostFacts, needs: HostRequirements) -> tuple[Gpu, ...] | Finding:
    """The planned devices of NVIDIA, or the skip that says why there is nothing to look at."""
    if plans_no_gpu(needs):
        return skip(check, facts.host, "the plan uses no GPU here")
    if not is_known(facts.gpus):
        return skip(check, facts.host, "the GPUs could not be read: see gpu.nvml")
    if facts.gpus.vendor != "nvidia":
        return skip(check, facts.host, "no GPU of NVIDIA here")
    return planned(facts, needs) or skip(check, facts.host, "none of the planned GPUs is there: see gpu.count")


def is_amd(facts: HostFacts) -> bool:
    return is_known(facts.gpus) and facts.gpus.vendor == "amd"


def driver_playbook(facts: HostFacts) -> str:
    """The playbook of the host's GPUs: by their driver, else by the PCI bus."""
    on_bus = {one.vendor for one in facts.bus_gpus} if is_known(facts.bus_gpus) else set()
    return "amd" if is_amd(facts) or (not is_known(facts.gpus) and on_bus == {"amd"}) else "nvidia"


def platform(facts: HostFacts) -> Platform:
    """`tray`: NVLink switches elsewhere in the rack; `board`: in this host; `none`: no NVLink switch is known of."""
    gpus = facts.gpus if is_known(facts.gpus) else None
    if gpus and any(TRAY.search(gpu.name) for gpu in gpus.devices):
        return "none" if any(gpu.health.peer_type == "Direct Connected" for gpu in gpus.devices) else "tray"
    if is_known(facts.fabric) and facts.fabric.switches:
        return "board"
    return "board" if gpus and is_nvlink5_board(gpus) else "none"


def is_nvlink5_board(gpus: Gpus) -> bool:
    """HGX B200 and B300: the driver reaches their switches over InfiniBand, not as devices of NVIDIA on the bus."""
    return len(gpus.devices) >= 8 and all(NVLINK5_BOARD.search(gpu.name) for gpu in gpus.devices)


def joins_trays(facts: HostFacts, needs: Requirements) -> bool:
    """The plan uses NVLink between hosts; where it does not tell, several trays of a rack do. Simulated ones do not."""
    if needs.mnnvl is not None:
        return needs.mnnvl
    return platform(facts) == "tray" and len(needs.hosts) > 1 and not facts.simulated


def is_in_fabric(gpu: Gpu) -> bool:
    return gpu.health.fabric_state == "Completed" and gpu.health.fabric_status == "Success"


def of(gpus: tuple[Gpu, ...]) -> str:
    """`GPU 2, GPU 3`."""
    return ", ".join(f"GPU {gpu.index}" for gpu in gpus)
