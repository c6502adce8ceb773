"""The core rule of vLLM's documentation, on the cores that a rank started here may really use.

Source of 2 + N: vLLM's "Optimization and Tuning", CPU resources: one API server, one engine core and N
workers that feed a device each, all of which wait busily. Without a device fewer cores are slower, not stuck
(the CPU build serves four ranks on two cores), so a host without GPUs is warned and not refused.
"""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import Cpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority, ranges, unread
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Processes

ID = "cpu.physical_cores"
PRIORITY = Priority.P0
WHY = "with fewer cores than busy processes the engine core starves and every rank waits for it"

_LOOK = f"{ON_HOST}grep Cpus_allowed_list /proc/self/status; lscpu -e=CPU,CORE,SOCKET"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    least = 2 + devices(needs)
    if not is_known(facts.cpu):
        return unread(ID, facts.host, facts.cpu, least_rule(needs), _LOOK)
    cores, observed = facts.cpu.physical_cores, counted(facts.cpu)
    if cores < least:
        status = Status.FAIL if needs.gpus else Status.WARN
        return Finding(ID, status, facts.host, observed, least_rule(needs), remedy(facts.cpu, least))
    if cores < needs.processes.total:
        required = f"a core for each process: {carried(needs.processes)}"
        return Finding(ID, Status.WARN, facts.host, observed, required, remedy(facts.cpu, needs.processes.total))
    return Finding(ID, Status.PASS, facts.host, f"{observed}; {least_rule(needs)}")


def devices(needs: HostRequirements) -> int:
    """N of the rule: the GPUs used on this host, or its workers where there are none."""
    return len(needs.gpus) or needs.processes.workers


def least_rule(needs: HostRequirements) -> str:
    n = devices(needs)
    what = "GPUs" if needs.gpus else "CPU workers"
    return f"at least 2 + N = 2 + {n} = {2 + n} physical cores for N = {n} {what}"


def carried(processes: Processes) -> str:
    """A + DP + N + (1 if DP > 1) with the numbers of this host."""
    parts = {
        "API servers": processes.api_servers,
        "launcher": processes.launchers,
        "engine cores": processes.engine_cores,
        "workers": processes.workers,
        "coordinator": processes.coordinators,
    }
    used = {name: number for name, number in parts.items() if number}
    return f"{' + '.join(used)} = {' + '.join(map(str, used.values()))} = {processes.total}"


def counted(cpu: Cpu) -> str:
    return (
        f"{cpu.physical_cores} physical cores in the allowed CPUs {ranges(cpu.allowed)} "
        f"({len(cpu.allowed)} CPUs); "
        f"the machine has {cpu.physical_cores_machine} cores, {len(cpu.online)} CPUs"
    )


def remedy(cpu: Cpu, wanted: int) -> str:
    if cpu.physical_cores_machine >= wanted:
        return f"{ON_HOST}cat /sys/fs/cgroup/$(cut -d: -f3 /proc/self/cgroup)/cpuset.cpus  # and widen it"
    return f"choose hosts with {wanted} physical cores, or start fewer ranks on this one"
