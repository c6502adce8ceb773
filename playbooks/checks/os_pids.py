"""How many more processes and threads a rank may start."""

from __future__ import annotations

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts, LaunchContext
from playbooks.checks.base import Priority, skip
from playbooks.checks.launch_context import LOOK, could_not_be_read, place_of, tuned
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "os.pids"
PRIORITY = Priority.P1
WHY = "each worker starts a thread for every core and library: `can't start new thread` ends the engine while it loads"

LEAST, ENOUGH = 4096, 16384
_REQUIRED = f"room for {ENOUGH} more threads where the ranks start; {LEAST} at the very least"
_BY_HAND = (
    "TasksMax=infinity in the unit and the slices above it, --pids-limit=-1 for a container; "
    "OMP_NUM_THREADS in the recipe makes fewer"
)


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    context = facts.context
    if isinstance(context, Unknown):
        if could_not_be_read(context):
            return Finding(ID, Status.WARN, facts.host, str(context), _REQUIRED, LOOK)
        return skip(ID, facts.host, "the limits of processes where ranks start were not looked at")
    rooms = headrooms(context)
    if not rooms:
        return skip(ID, facts.host, f"nothing tells a limit of processes in {place_of(facts)}")
    tightest = min(rooms, key=lambda name: rooms[name])
    observed = f"room for {rooms[tightest]} more threads in {place_of(facts)}, by {tightest}"
    if rooms[tightest] >= ENOUGH:
        return Finding(ID, Status.PASS, facts.host, observed)
    remedy = f"{tuned(facts.host)}  # and {_BY_HAND}"
    status = Status.FAIL if rooms[tightest] < LEAST else Status.WARN
    return Finding(ID, status, facts.host, observed, _REQUIRED, remedy)


def headrooms(context: LaunchContext) -> dict[str, int]:
    """By what limits: how many more. The user's own limit does not hold for root."""
    found: dict[str, int] = {}
    if is_known(context.pids):
        pids = context.pids
        if pids.maximum is not None:
            found[f"pids.max {pids.maximum} with {pids.current or 0} there"] = pids.maximum - (pids.current or 0)
        found |= {
            f"{name} {value}": value - (pids.threads or 0)
            for name, value in (("kernel.threads-max", pids.threads_maximum), ("kernel.pid_max", pids.pid_maximum))
            if value is not None
        }
    if is_known(context.processes) and context.processes.soft is not None and context.uid != 0:
        found[f"ulimit -u {context.processes.soft}"] = context.processes.soft
    return found
