from __future__ import annotations

from inventory.facts.gpu import commands
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.devices import nvidia_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.recovery_action"
PRIORITY = Priority.P1
WHY = "a GPU whose driver asks for a reset fails its next job, whatever a health service says of it"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = nvidia_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    told = [gpu for gpu in gpus if gpu.health.recovery_action not in {None, "N/A", "[N/A]"}]
    if not told:
        return skip(ID, facts.host, "this driver does not tell a recovery action")
    asked = [gpu for gpu in told if gpu.health.recovery_action != "None"]
    if asked:
        observed = "; ".join(f"GPU {gpu.index}: the driver asks for {gpu.health.recovery_action}" for gpu in asked)
        remedy = f"{ON_HOST}{commands.RECOVERY}  # drain the host, then do what it asks for"
        return Finding(ID, Status.FAIL, facts.host, observed, "recovery action None on every planned GPU", remedy)
    return Finding(ID, Status.PASS, facts.host, f"the driver asks for nothing on {len(told)} GPUs")
