"""The CUDA library of the host's driver is found before one that came with an image or a package.

Which is newer is told by the files' names; a compatibility library of unknown version that stands first is not
believed to be the newer one.
"""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Driver, HostFacts, Library
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.devices import plans_no_gpu
from playbooks.checks.version import release
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.compat_shadow"
PRIORITY = Priority.P1
WHY = "a compatibility library older than the driver is loaded first and refuses it: error 803"

SWITCH = "VLLM_ENABLE_CUDA_COMPATIBILITY"
_REQUIRED = "the driver's own libcuda.so.1 before any that is older"
_REMEDY = (
    f"{ON_HOST}ldconfig -p | grep libcuda.so  # unset {SWITCH}, or put the driver's folder first in LD_LIBRARY_PATH"
)


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if plans_no_gpu(needs):
        return skip(ID, facts.host, "the plan uses no GPU here")
    driver = facts.driver if is_known(facts.driver) else Driver()
    version = driver.module or (facts.gpus.driver if is_known(facts.gpus) else None)
    if switched_on_for_nothing(facts, needs):
        observed = f"{SWITCH} is set, and driver {version} runs {needs.gpu_runtime} by itself"
        return Finding(
            ID, Status.FAIL, facts.host, observed, f"{SWITCH} unset", f"take {SWITCH} out of the recipe's env"
        )
    if driver.libcuda is None:
        return skip(ID, facts.host, "the linker was not asked for its libcuda")
    if not driver.libcuda:
        return skip(ID, facts.host, "the linker knows no libcuda")
    first = driver.libcuda[0]
    if is_compat(first) and not is_newer(first, version):
        observed = f"{first.path} ({first.version or 'version not told'}) is found first; the driver is {version}"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, facts.host, f"{first.path} is found first")


def switched_on_for_nothing(facts: HostFacts, needs: HostRequirements) -> bool:
    """VLLM itself was told to take the compatibility library although the driver can run the build."""
    if dict(needs.env).get(SWITCH, "0") not in {"1", "true", "True"} or not is_known(facts.gpus):
        return False
    ceiling, wanted = release(facts.gpus.runtime_ceiling or ""), release(needs.gpu_runtime or "")
    return ceiling is not None and wanted is not None and ceiling >= wanted


def is_compat(library: Library) -> bool:
    return "compat" in library.path


def is_newer(library: Library, driver: str | None) -> bool:
    """Forward compatibility as it is meant: a newer library on an older driver."""
    own, other = release(library.version or ""), release(driver or "")
    return own is not None and other is not None and own > other
