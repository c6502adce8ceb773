"""Every part of a probe ends by its own deadline; what did not answer in it is told here."""

from __future__ import annotations

from inventory.facts.base import Unknown, Why
from inventory.facts.gpu import SECTIONS
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "ctl.probe_deadline"
PRIORITY = Priority.P0
WHY = "a driver that does not answer makes every process that touches its GPU hang, past any kill"

DRIVERS = tuple(name for name in SECTIONS if name.startswith(("nvidia", "amd")))
_REQUIRED = "every question to the host is answered in its time"
_LOOK = (
    f"{ON_HOST}sudo journalctl -k | grep -E 'Xid|NVRM|amdgpu|blocked for more than' | tail -20; "
    "ps -eo pid,stat,wchan,args | grep ' D'"
)


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    late = [one for one in facts.late_sections if one.partition(":")[0] in DRIVERS]
    if not late and isinstance(facts.gpus, Unknown) and facts.gpus.why is Why.TIMED_OUT:
        late = [str(facts.gpus)]
    if late:
        stuck = any("not even when killed" in one for one in late)
        what = "hangs in the kernel" if stuck else "does not answer"
        observed = f"the GPU driver {what} ({'; '.join(late)}); a reboot is the usual way out"
        planned = needs.gpus or not needs.processes.total
        return Finding(ID, Status.FAIL if planned else Status.WARN, facts.host, observed, _REQUIRED, _LOOK)
    if facts.late_sections:
        observed = "; ".join(facts.late_sections)
        return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, f"{ON_HOST}uptime; ps -eo pid,stat,wchan,args")
    return Finding(ID, Status.PASS, facts.host, "every part of the probe ended in its time")
