"""ROCm's user space is not newer than what the kernel's driver was tested with."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import is_amd, plans_no_gpu
from playbooks.checks.known_versions import AMDGPU_RELEASE, ROCM_NEWER_BY, ROCM_RELEASES
from playbooks.checks.version import release
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "rocm.versions"
PRIORITY = Priority.P1
WHY = "a user space that is too new for the driver fails with `Invalid argument` when it opens /dev/kfd"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    driver = facts.driver if is_known(facts.driver) else None
    if plans_no_gpu(needs) or not (is_amd(facts) or (driver and driver.amdgpu and not is_known(facts.gpus))):
        return skip(ID, facts.host, "the plan uses no GPU of AMD here")
    rocm = needs.gpu_runtime or (driver.rocm if driver else None)
    if driver is None or driver.amdgpu is None or rocm is None:
        return skip(ID, facts.host, "the version of amdgpu (in the kernel: none) or of ROCm is not told")
    newest = newest_for(driver.amdgpu)
    if newest is None:
        return skip(ID, facts.host, f"amdgpu {driver.amdgpu}: which ROCm it is of is not known")
    observed = f"amdgpu {driver.amdgpu}, ROCm {rocm}"
    if (release(rocm) or (0,))[:2] <= newest:
        return Finding(ID, Status.PASS, facts.host, observed)
    required = f"ROCm up to {newest[0]}.{newest[1]} with this driver"
    by_hand = f"{ON_HOST}cat /sys/module/amdgpu/version; install the amdgpu driver of that ROCm, or an older image"
    remedy = by_playbook(facts.host, "amd", by_hand)
    return Finding(ID, Status.WARN, facts.host, observed, required, remedy)


def newest_for(amdgpu: str) -> tuple[int, int] | None:
    """The newest release of ROCm that can have been tested with a version of the driver; None for one newer than known.

    A version between two known ones counts as the later: what is too new for that is too new for it.
    """
    version = release(amdgpu)
    of = next((rocm for known, rocm in AMDGPU_RELEASE.items() if version and version[:3] <= known), None)
    return None if of is None else ROCM_RELEASES[min(ROCM_RELEASES.index(of) + ROCM_NEWER_BY, len(ROCM_RELEASES) - 1)]
