"""The core rule of vLLM's documentation, on the cores that a rank may really use where it is started.

Source of 2 + N: vLLM's "Optimization and Tuning", CPU resources: one API server, one engine core and N
workers that feed a device each, all of which wait busily. Without a device fewer cores are slower, not stuck
(the CPU build serves four ranks on two cores), so a host without GPUs is warned and not refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from inventory.facts.base import Maybe, Unknown, is_known
from inventory.facts.host import Cpu, HostFacts
from playbooks.checks.base import ON_HOST, Priority, ranges, unread
from playbooks.checks.launch_context import LOOK, PLACES, could_not_be_read, part_of, place_of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Processes

ID = "cpu.physical_cores"
PRIORITY = Priority.P0
WHY = "with fewer cores than busy processes the engine core starves and every rank waits for it"

_LOOK = f"{ON_HOST}grep Cpus_allowed_list /proc/self/status; lscpu -e=CPU,CORE,SOCKET"


@dataclass(frozen=True, slots=True)
class Counted:
    """Distinct physical cores of the CPUs in `cpus`; `place`: whose set it is. `doubt`: why it may be another's."""

    cores: int
    cpus: tuple[int, ...]
    place: str
    machine: Cpu
    doubt: Unknown | None = None

    def __str__(self) -> str:
        cpu = self.machine
        text = (
            f"{self.cores} physical cores in the allowed CPUs {ranges(self.cpus)} ({len(self.cpus)} CPUs) of "
            f"{self.place}; the machine has {cpu.physical_cores_machine} cores, {len(cpu.online)} CPUs"
        )
        return f"{text}; the launch context is {self.doubt}" if self.doubt else text


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    least, wanted = 2 + devices(needs), needs.processes.total
    found = count(facts)
    if isinstance(found, Unknown):
        return unread(ID, facts.host, found, least_rule(needs), _LOOK)
    required = f"{least_rule(needs)}; for full speed {carried(needs.processes)}"
    if found.cores < least:
        status = Status.FAIL if needs.gpus else Status.WARN
        return _doubted(Finding(ID, status, facts.host, str(found), required, remedy(found, least)), found)
    if found.cores < wanted:
        return Finding(ID, Status.WARN, facts.host, str(found), required, remedy(found, wanted))
    return _doubted(Finding(ID, Status.PASS, facts.host, f"{found}; {required}"), found)


def count(facts: HostFacts) -> Maybe[Counted]:
    """The cores of the launch context's own set; of the login's where that could not be read."""
    if not is_known(facts.cpu):
        return facts.cpu
    cpus, cores = (part_of(facts, lambda one: one.cpus_allowed), part_of(facts, lambda one: one.physical_cores))
    if is_known(cpus) and is_known(cores):
        return Counted(cores, cpus, place_of(facts), facts.cpu)
    doubt = cpus if isinstance(cpus, Unknown) and could_not_be_read(cpus) else None
    return Counted(facts.cpu.physical_cores, facts.cpu.allowed, PLACES["login"], facts.cpu, doubt)


def _doubted(finding: Finding, found: Counted) -> Finding:
    """What was counted in another set than the ranks' is no proof in either direction."""
    if found.doubt is None:
        return finding
    status = Status.UNKNOWN if finding.status is Status.FAIL else Status.WARN
    required = finding.required or "the set of the launch context can be read"
    return Finding(ID, status, finding.host, finding.observed, required, LOOK)


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


def remedy(found: Counted, wanted: int) -> str:
    if found.machine.physical_cores_machine >= wanted:
        look = "systemctl show -p AllowedCPUs system.slice; systemctl show -p CPUAffinity"
        return f"{ON_HOST}{look}  # and widen the cpuset of {found.place}"
    return f"choose hosts with {wanted} physical cores, or start fewer ranks on this one"
