"""The build has kernels for the GPUs' architecture.

From compute capability 9.0 on, kernels are built for one capability or (with `f`) for a family; before that, code for
8.0 also runs on 8.6. So 10.3 needs its own entry even where 10.0 is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.devices import planned
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "gpu.arch_in_build"
PRIORITY = Priority.P0
WHY = "a build without kernels for the GPU ends with `no kernel image is available` after the weights are loaded"

CAPABILITY = re.compile(r"(?:sm_|compute_)?(\d{1,2})\.?(\d)([af]?)(\+PTX)?")


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if not needs.build.architectures:
        return (skip(ID, "", "the plan does not tell which architectures its build is for"),)
    return tuple(of_host(facts[one.host], one, needs.build.architectures) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, needs: HostRequirements, built: tuple[str, ...]) -> Finding:
    gpus = planned(facts, needs)
    if not gpus:
        return skip(ID, facts.host, "no planned GPU is known here")
    told = {gpu.compute_capability: gpu.name for gpu in gpus if gpu.compute_capability}
    if not told:
        return skip(ID, facts.host, "the driver does not tell the architecture")
    missing = {one: name for one, name in told.items() if not any(runs_on(entry, one) for entry in built)}
    listed = " ".join(built)
    if missing:
        observed = ", ".join(f"{name!r} is {one}" for one, name in missing.items()) + f"; the build has {listed}"
        remedy = "choose a build that has it (another version, or the recipe's image): --variant VARIANT"
        return Finding(ID, Status.FAIL, facts.host, observed, f"a build for {', '.join(missing)}", remedy)
    return Finding(ID, Status.PASS, facts.host, f"{', '.join(told)} is among {listed}")


def runs_on(entry: str, capability: str) -> bool:
    """Whether code built for `entry` (8.0, sm_90a, 10.0f, 12.0+PTX, gfx942) runs on `capability`."""
    built, device = CAPABILITY.fullmatch(entry), CAPABILITY.fullmatch(capability)
    if built is None or device is None:
        return entry.partition(":")[0] == capability.partition(":")[0]
    (major, minor), (own, own_minor) = (tuple(map(int, one.groups()[:2])) for one in (built, device))
    if built[4] and (own, own_minor) >= (major, minor):
        return True
    within_family = built[3] == "f" or (major < 9 and not built[3])
    return own == major and (own_minor >= minor if within_family else own_minor == minor)
