from __future__ import annotations

import re

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts, Updates
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import driver_playbook
from playbooks.checks.launch_context import gpu_count
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "os.auto_update"
PRIORITY = Priority.P1
WHY = "a driver that is upgraded at night under running ranks no longer matches its kernel module"

FAMILIES = {
    "nvidia": ("nvidia-driver", "libnvidia-compute", "cuda-drivers"),
    "amd": ("amdgpu-dkms",),
}
"""Packages of a driver, by the names that they have or begin with."""
KERNELS = {"rhel": "kernel-core"}
KERNEL = "linux-image"
_REQUIRED = "drivers and kernels left out of automatic updates"
_BY_HAND = (
    f"{ON_HOST}sudo apt-mark hold $(dpkg-query -W -f '${{Package}}\\n' 'nvidia-*' 'libnvidia-*' 'linux-image-*'); "
    "or name them in Unattended-Upgrade::Package-Blacklist; dnf: excludepkgs= in /etc/dnf/automatic.conf"
)


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not gpu_count(facts, needs):
        return skip(ID, facts.host, "the plan uses no GPU here")
    if isinstance(facts.updates, Unknown) or facts.updates.automatic is None:
        return skip(ID, facts.host, "whether packages are upgraded by themselves is not told")
    if not facts.updates.automatic:
        return Finding(ID, Status.PASS, facts.host, "packages are not upgraded by themselves")
    open_ = [name for name in families(facts) if not covered(name, facts.updates)]
    if open_:
        observed = f"packages are upgraded by themselves, {', '.join(open_)} too"
        remedy = by_playbook(facts.host, "tuning", _BY_HAND)
        return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, remedy)
    return Finding(ID, Status.PASS, facts.host, "automatic updates leave drivers and kernels out")


def families(facts: HostFacts) -> tuple[str, ...]:
    family = facts.system.family if is_known(facts.system) else ""
    return (*FAMILIES[driver_playbook(facts)], KERNELS.get(family, KERNEL))


def covered(family: str, updates: Updates) -> bool:
    """A held package of the family, or a pattern that names it; patterns are regular expressions from the start."""
    if any(name.startswith(family) for name in updates.held):
        return True
    return any(pattern.rstrip("$*.-") and matches(pattern, family) for pattern in updates.excluded)


def matches(pattern: str, family: str) -> bool:
    stem = pattern.strip("^$").rstrip("*.-")
    try:
        return family.startswith(stem) or stem.startswith(family) or re.match(pattern, f"{family}-1") is not None
    except re.error:
        return False
