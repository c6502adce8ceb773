from __future__ import annotations

import re

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts, Updates
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import driver_playbook
from playbooks.checks.launch_context import gpu_count
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "os.pending_reboot"
PRIORITY = Priority.P1
WHY = "libraries of the driver that are newer than its kernel module refuse every new process on the GPU"

DRIVER = re.compile(r"(?:lib)?nvidia|cuda-drivers|amdgpu")
_REQUIRED = "nothing that waits for a reboot"
_REMEDY = f"{ON_HOST}sudo reboot, in a window"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if isinstance(facts.updates, Unknown):
        return skip(ID, facts.host, f"packages are {facts.updates}")
    upgraded = [one for one in facts.updates.upgraded_since_boot or () if DRIVER.match(one)]
    loaded = facts.driver.module if is_known(facts.driver) else None
    waiting = [one for one in upgraded if not (loaded and loaded in one)]
    if waiting and gpu_count(facts, needs):
        observed = f"upgraded since boot: {', '.join(waiting[:4])}; loaded is {loaded or 'an older module'}"
        remedy = by_playbook(facts.host, f"{driver_playbook(facts)} --reboot", _REMEDY)
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, remedy)
    reasons = pending(facts, facts.updates)
    if reasons:
        return Finding(ID, Status.WARN, facts.host, "; ".join(reasons), _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, "nothing waits for a reboot")


def pending(facts: HostFacts, updates: Updates) -> list[str]:
    reasons = []
    if updates.wants_reboot:
        packages = f" by {', '.join(updates.reboot_packages[:4])}" if updates.reboot_packages else ""
        reasons.append(f"a reboot is wanted{packages}")
    running = facts.system.kernel if is_known(facts.system) else ""
    newer = newest(updates.kernels, running)
    if running and newer and newer != running:
        reasons.append(f"kernel {newer} is installed, {running} runs")
    return reasons


def newest(kernels: tuple[str, ...], running: str) -> str | None:
    """The newest installed kernel of the flavour that runs (generic, 64k, x86_64)."""
    same = [one for one in kernels if flavour(one) == flavour(running)]
    return max([*same, running], key=numbers) if same else None


def flavour(kernel: str) -> str:
    return re.sub(r"[\d._-]+", " ", kernel).strip()


def numbers(kernel: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", kernel))
