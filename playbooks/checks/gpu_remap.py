"""What the GPU's memory has lost: rows that could not be remapped, errors that ECC could not correct."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.gpu import commands
from inventory.facts.host import Gpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority
from playbooks.checks.devices import nvidia_gpus, of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.remap"
PRIORITY = Priority.P1
WHY = "a GPU with failing memory ends its rank under load, and the log names another rank"

_REQUIRED = "no failed remapping, no uncorrectable error since the driver was loaded, none waiting"
_LOOK = f"{ON_HOST}{commands.MEMORY_ERRORS}"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = nvidia_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    failed = tuple(gpu for gpu in gpus if gpu.health.remap_failure)
    uncorrectable = tuple(gpu for gpu in gpus if gpu.health.uncorrectable_errors)
    pending = tuple(gpu for gpu in gpus if gpu.health.remap_pending)
    if failed or uncorrectable:
        parts = [f"{of(failed)}: a row could not be remapped"] if failed else []
        parts += [f"GPU {gpu.index}: {gpu.health.uncorrectable_errors} uncorrectable errors" for gpu in uncorrectable]
        remedy = f"replace the GPU (RMA), or leave it out; to look: {_LOOK}"
        return Finding(ID, Status.FAIL, facts.host, "; ".join(parts), _REQUIRED, remedy)
    if pending:
        remedy = f"{ON_HOST}sudo reboot  # after draining it: the remapping is done then"
        return Finding(ID, Status.WARN, facts.host, f"{of(pending)}: remapping is pending", _REQUIRED, remedy)
    grown = [text for gpu in gpus if (text := growth(gpu, needs.earlier))]
    if grown:
        return Finding(ID, Status.WARN, facts.host, "; ".join(grown), _REQUIRED, f"replace the GPU (RMA): {_LOOK}")
    return Finding(ID, Status.PASS, facts.host, f"{len(gpus)} GPUs without memory errors")


def growth(gpu: Gpu, earlier: HostFacts | None) -> str:
    """How many more rows are remapped than on the last record; empty where none or not known."""
    if earlier is None or not is_known(earlier.gpus) or gpu.health.remapped_rows is None:
        return ""
    before = next((one.health.remapped_rows for one in earlier.gpus.devices if one.uuid == gpu.uuid), None)
    if before is None or gpu.health.remapped_rows <= before:
        return ""
    return f"GPU {gpu.index}: {gpu.health.remapped_rows} rows remapped, {before} on the last record"
