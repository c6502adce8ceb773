"""What the driver can run against what the pinned build was made for.

CUDA runs on a driver of the same major and an older minor version, except for code that is compiled at run
time: hence fail by major, warn by minor. A driver that does not tell what it runs is judged by its own version.
"""

from __future__ import annotations

import re

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip, unread
from playbooks.checks.devices import is_amd
from playbooks.checks.known_versions import CUDA_DRIVER, CUDA_FLOOR
from playbooks.checks.version import release
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.driver_min"
PRIORITY = Priority.P0
WHY = "a driver older than the build's CUDA or ROCm refuses it at the first call"

_BY_HAND = "install a newer driver and reboot, or choose a build for an older CUDA or ROCm"
_LOOK = f"{ON_HOST}cat /proc/driver/nvidia/version /sys/module/amdgpu/version"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.gpus and needs.processes.total:
        return skip(ID, facts.host, "the plan uses no GPU here")
    if needs.gpu_runtime is None:
        return skip(ID, facts.host, "the plan does not tell which CUDA or ROCm its build needs")
    if is_amd(facts):
        return skip(ID, facts.host, "an AMD driver: see rocm.versions")
    required = f"a driver that runs {needs.gpu_runtime}"
    if not is_known(facts.gpus) and driver_of(facts) is None:
        return unread(ID, facts.host, facts.gpus, required, _LOOK)
    return judge(facts, needs, needs.gpu_runtime, required)


def judge(facts: HostFacts, needs: HostRequirements, runtime: str, required: str) -> Finding:
    driver, ceiling, wanted = driver_of(facts), ceiling_of(facts), version(runtime)
    if wanted is None or (ceiling is None and wanted[0] not in CUDA_FLOOR):
        observed = f"driver {driver}, which does not tell what it runs"
        return Finding(ID, Status.UNKNOWN, facts.host, observed, required, _LOOK)
    if ceiling is None:
        return by_driver(facts.host, driver or "", wanted, required)
    observed = f"driver {driver}, which runs up to {ceiling[0]}.{ceiling[1]}"
    if ceiling >= wanted:
        return Finding(ID, Status.PASS, facts.host, observed)
    status = Status.WARN if ceiling[0] == wanted[0] or is_forward(facts, needs) else Status.FAIL
    return Finding(ID, status, facts.host, observed, required, _cure(facts.host))


def by_driver(host: str, driver: str, wanted: tuple[int, int], required: str) -> Finding:
    """By NVIDIA's tables of drivers, where the driver's tool does not say which CUDA it runs."""
    numbers = release(driver)
    if numbers is None:
        return Finding(ID, Status.UNKNOWN, host, "the driver tells no version", required, _LOOK)
    floor, recommended = CUDA_FLOOR[wanted[0]], CUDA_DRIVER.get(wanted)
    if numbers < floor:
        observed = f"driver {driver}; CUDA {wanted[0]} needs {dotted(floor)} or later"
        return Finding(ID, Status.FAIL, host, observed, required, _cure(host))
    if recommended and numbers < recommended:
        observed = f"driver {driver}; CUDA {wanted[0]}.{wanted[1]} comes with {dotted(recommended)}"
        return Finding(ID, Status.WARN, host, observed, required, _cure(host))
    return Finding(ID, Status.PASS, host, f"driver {driver}; CUDA {wanted[0]} needs {dotted(floor)} or later")


def dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(str(number) if at < 2 else f"{number:02}" for at, number in enumerate(numbers))


def _cure(host: str) -> str:
    return by_playbook(host, "nvidia", _BY_HAND)


def driver_of(facts: HostFacts) -> str | None:
    told = facts.gpus.driver if is_known(facts.gpus) else None
    return told or (facts.driver.module if is_known(facts.driver) else None)


def ceiling_of(facts: HostFacts) -> tuple[int, int] | None:
    return version((facts.gpus.runtime_ceiling if is_known(facts.gpus) else None) or "")


def is_forward(facts: HostFacts, needs: HostRequirements) -> bool:
    """A newer libcuda was asked for on GPUs that take one: those of data centres."""
    asked = dict(needs.env).get("VLLM_ENABLE_CUDA_COMPATIBILITY") in {"1", "true", "True"}
    names = [gpu.name for gpu in facts.gpus.devices] if is_known(facts.gpus) else []
    return asked and bool(names) and not any(re.search(r"GeForce|RTX|GTX|TITAN", name) for name in names)


def version(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*", text)
    return (int(match[1]), int(match[2])) if match else None
