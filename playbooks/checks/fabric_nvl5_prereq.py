"""HGX B200 and B300: the NVLink switches are managed over InfiniBand, by NVLSM."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Driver, HostFacts
from playbooks.checks.base import ON_HOST, Priority, by_playbook, skip
from playbooks.checks.devices import is_in_fabric, is_nvlink5_board, nvidia_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "fabric.nvl5_prereq"
PRIORITY = Priority.P1
WHY = "without the InfiniBand modules or NVLSM the fabric manager ends in silence and the GPUs stay In Progress"

MODULES = ("mlx5_ib", "ib_umad")


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = nvidia_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    if not is_known(facts.gpus) or not is_nvlink5_board(facts.gpus):
        return skip(ID, facts.host, "no HGX board with NVLink 5")
    missing = missing_parts(facts.driver if is_known(facts.driver) else Driver())
    if missing is None:
        return skip(ID, facts.host, "the loaded modules are not told")
    if not missing:
        return Finding(ID, Status.PASS, facts.host, f"{', '.join(MODULES)} are loaded")
    status = Status.WARN if all(map(is_in_fabric, gpus)) else Status.FAIL
    remedy = f"{ON_HOST}sudo modprobe -a {' '.join(MODULES)}; sudo systemctl restart nvidia-fabricmanager"
    remedy = by_playbook(facts.host, "nvidia", f"{remedy}; install linux-modules-extra and nvlsm if they are not there")
    required = f"modules {', '.join(MODULES)} and a running nvlsm"
    return Finding(ID, status, facts.host, f"missing: {', '.join(missing)}", required, remedy)


def missing_parts(driver: Driver) -> list[str] | None:
    if driver.loaded is None and driver.nvlsm is None:
        return None
    missing = [name for name in MODULES if driver.loaded is not None and name not in driver.loaded]
    return missing + (["the process nvlsm"] if driver.nvlsm is False else [])
