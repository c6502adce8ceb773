"""The loaded kernel module and the library that talks to it are of one version."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Driver, HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import plans_no_gpu
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.nvml_match"
PRIORITY = Priority.P0
WHY = "after an update of the driver's packages running jobs go on, and every new one fails until a reboot"

_REQUIRED = "the loaded NVIDIA module and its user-space library are of the same version"
_REBOOT = f"{ON_HOST}sudo reboot, after draining it; then hold the driver's packages"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if plans_no_gpu(needs):
        return skip(ID, facts.host, "the plan uses no GPU here")
    driver = facts.driver if is_known(facts.driver) else Driver()
    if says_mismatch(facts):
        observed = f"Driver/library version mismatch: module {driver.module or 'unknown'}, library {library(driver)}"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, _cure(facts.host))
    if driver.module is None:
        return skip(ID, facts.host, "no module of NVIDIA is loaded, or its version is not told")
    if driver.library is None:
        return skip(ID, facts.host, f"module {driver.module}; the library's file does not tell its version")
    if driver.library != driver.module:
        observed = f"module {driver.module}, library {driver.library}"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, _cure(facts.host))
    return Finding(ID, Status.PASS, facts.host, f"module and library are {driver.module}")


def _cure(host: str) -> str:
    return by_playbook(host, "nvidia --reboot", _REBOOT)


def says_mismatch(facts: HostFacts) -> bool:
    """The driver's own tool says so."""
    return not is_known(facts.gpus) and "mismatch" in facts.gpus.detail.lower()


def library(driver: Driver) -> str:
    return driver.library or "of another version"
