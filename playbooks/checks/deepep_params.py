"""The options of the driver that NVSHMEM's IBGDA wants; later NVSHMEM does without them, more slowly."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import Driver, HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.interconnect import uses_deepep
from playbooks.checks.known_versions import NVSHMEM_RELAXED
from playbooks.checks.version import release
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "deepep.params"
PRIORITY = Priority.P2
WHY = "without them NVSHMEM cannot map the NIC's doorbells: `init failed for transport: IBGDA`"

_REQUIRED = "EnableStreamMemOPs: 1 and PeerMappingOverride=1 of the nvidia module, or GDRCopy (gdrdrv)"
_REMEDY = (
    f"{ON_HOST}options nvidia NVreg_EnableStreamMemOPs=1 "
    "NVreg_RegistryDwords='PeerMappingOverride=1;' in /etc/modprobe.d, then update-initramfs -u and reboot"
)


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    version = dict(needs.build.packages).get("nvidia-nvshmem-cu13") or dict(needs.build.packages).get(
        "nvidia-nvshmem-cu12"
    )
    return tuple(of_host(facts[one.host], one, version) for one in needs.hosts if one.host in facts)


def of_host(facts: HostFacts, needs: HostRequirements, pinned: str | None) -> Finding:
    if not uses_deepep(needs):
        return skip(ID, facts.host, "the plan does not use DeepEP")
    if not is_known(facts.driver) or not facts.driver.parameters:
        return skip(ID, facts.host, "the parameters of the nvidia module are not told")
    missing = lacking(facts.driver)
    if not missing:
        return Finding(ID, Status.PASS, facts.host, "the options are set, or gdrdrv is loaded")
    version = pinned or installed(facts)
    is_old = version is not None and (release(version) or NVSHMEM_RELAXED) < NVSHMEM_RELAXED
    observed = f"missing: {', '.join(missing)}; NVSHMEM {version or 'of unknown version'}"
    return Finding(ID, Status.FAIL if is_old else Status.WARN, facts.host, observed, _REQUIRED, _REMEDY)


def lacking(driver: Driver) -> list[str]:
    told = dict(driver.parameters)
    if "gdrdrv" in (driver.loaded or ()):
        return []
    missing = [] if told.get("EnableStreamMemOPs") == "1" else ["EnableStreamMemOPs=1"]
    return missing + ([] if "PeerMappingOverride=1" in told.get("RegistryDwords", "") else ["PeerMappingOverride=1"])


def installed(facts: HostFacts) -> str | None:
    found = facts.nccl if is_known(facts.nccl) else ()
    return next((one.nvshmem for one in found if one.nvshmem), None)
