"""What the driver can run against what the pinned build was made for.

CUDA runs on a driver of the same major and an older minor version, except for code that is compiled at run
time: hence fail by major, warn by minor.
"""

from __future__ import annotations

import re

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.driver_min"
PRIORITY = Priority.P0
WHY = "a driver older than the build's CUDA or ROCm refuses it at the first call"

_LOOK = f"{ON_HOST}cat /proc/driver/nvidia/version /sys/module/amdgpu/version"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.gpus:
        return skip(ID, facts.host, "the plan uses no GPU here")
    if needs.gpu_runtime is None:
        return skip(ID, facts.host, "the plan does not tell which CUDA or ROCm its build needs")
    required = f"a driver that runs {needs.gpu_runtime}"
    if not is_known(facts.gpus):
        return unread(ID, facts.host, facts.gpus, required, _LOOK)
    ceiling, wanted = version(facts.gpus.runtime_ceiling or ""), version(needs.gpu_runtime)
    observed = f"driver {facts.gpus.driver}, which runs up to {facts.gpus.runtime_ceiling}"
    if ceiling is None or wanted is None:
        return Finding(ID, Status.UNKNOWN, facts.host, observed, required, _LOOK)
    if ceiling >= wanted:
        return Finding(ID, Status.PASS, facts.host, observed)
    status = Status.WARN if ceiling[0] == wanted[0] else Status.FAIL
    remedy = "install a newer driver and reboot, or choose a build for an older CUDA or ROCm"
    return Finding(ID, status, facts.host, observed, required, remedy)


def version(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*", text)
    return (int(match[1]), int(match[2])) if match else None
