from __future__ import annotations

import re

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import is_amd, plans_no_gpu
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "rocm.iommu"
PRIORITY = Priority.P2
WHY = "without pass-through of the IOMMU GPUs and NICs of a server hang or fail to connect to each other"

INSTINCT = re.compile(r"MI3\d\d")


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if plans_no_gpu(needs) or not is_instinct(facts):
        return skip(ID, facts.host, "no MI3xx of AMD here")
    if is_virtual(facts):
        return skip(ID, facts.host, "a virtual machine: the IOMMU is the hypervisor's")
    if not is_known(facts.boot_arguments):
        return skip(ID, facts.host, f"the kernel's command line is not known: {facts.boot_arguments}")
    words = facts.boot_arguments.split()
    if "iommu=pt" in words or "iommu=off" in words or "amd_iommu=off" in words:
        return Finding(ID, Status.PASS, facts.host, "the IOMMU is passed through")
    remedy = f"{ON_HOST}add iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo update-grub and reboot"
    remedy = by_playbook(facts.host, "amd", remedy)
    return Finding(ID, Status.WARN, facts.host, "the kernel was booted without iommu=pt", "iommu=pt", remedy)


def is_instinct(facts: HostFacts) -> bool:
    """Where only the kernel tells of the GPU it has no name; then its gfx does."""
    if not is_amd(facts) or not is_known(facts.gpus):
        return False
    return any(INSTINCT.search(gpu.name) or gpu.compute_capability in GFX for gpu in facts.gpus.devices)


GFX = frozenset({"gfx940", "gfx941", "gfx942", "gfx950"})


def is_virtual(facts: HostFacts) -> bool:
    return is_known(facts.system) and facts.system.hypervisor is not None
