"""Nobody else is on the planned GPUs. Engines that outlived their API server are told apart: they may be ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from inventory.facts.base import is_known
from inventory.facts.host import GpuProcess, HostFacts, Process
from playbooks.checks.base import ON_HOST, Priority
from playbooks.checks.devices import planned_gpus
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "gpu.owners"
PRIORITY = Priority.P0
WHY = "another process on a planned GPU takes memory and time that the plan has already given away"

ENGINE = re.compile(r"VLLM::(?!API|Api)")
SERVER = re.compile(r"vllm\S* +serve|VLLM::(?:API|Api)|vllm\.entrypoints")
_REQUIRED = "no foreign process on a planned GPU"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    gpus = planned_gpus(ID, facts, needs)
    if isinstance(gpus, Finding):
        return gpus
    table = {one.pid: one for one in facts.processes} if is_known(facts.processes) else {}
    foreign = {gpu.index: tuple(p for p in gpu.processes if p.pid not in needs.own_pids) for gpu in gpus}
    owners = [one for found in foreign.values() for one in found]
    if not owners:
        return Finding(ID, Status.PASS, facts.host, f"{len(gpus)} planned GPUs without foreign processes")
    observed = "; ".join(
        f"GPU {index}: {', '.join(described(one, table) for one in found)}" for index, found in foreign.items() if found
    )
    return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, remedy(owners, table))


def described(one: GpuProcess, table: Mapping[int, Process]) -> str:
    """`pid 22011 'VLLM::Worker_TP0' of svc since ..., an orphan: its API server is gone`."""
    known = table.get(one.pid)
    who = f" of {known.user} since {known.started}" if known else ""
    name = one.name or (known.command if known else "")
    return f"pid {one.pid} {name!r}{who}{', an orphan: its API server is gone' if is_orphan(one.pid, table) else ''}"


def lineage(pid: int, table: Mapping[int, Process]) -> Iterator[Process]:
    """The process and its ancestors, the nearest first; each once."""
    seen: set[int] = set()
    while pid in table and pid not in seen:
        seen.add(pid)
        yield table[pid]
        pid = table[pid].parent


def is_orphan(pid: int, table: Mapping[int, Process]) -> bool:
    """An engine of vLLM, none of whose ancestors is a server."""
    family = list(lineage(pid, table))
    return bool(family) and bool(ENGINE.search(family[0].command)) and not any(SERVER.search(p.command) for p in family)


def orphans(owners: list[GpuProcess], table: Mapping[int, Process]) -> tuple[int, ...]:
    """The engines that may be ended: the orphans on GPUs and the engines above them, never a shell."""
    pids = {one.pid for one in owners if is_orphan(one.pid, table)}
    return tuple(sorted({p.pid for pid in pids for p in lineage(pid, table) if ENGINE.search(p.command)}))


def remedy(owners: list[GpuProcess], table: Mapping[int, Process]) -> str:
    pids = sorted({one.pid for one in owners})
    if all(is_orphan(pid, table) for pid in pids):
        numbers = " ".join(map(str, orphans(owners, table)))
        return f"{ON_HOST}sudo kill {numbers}  # these engines of vLLM alone; after 10 s sudo kill -9"
    return f"{ON_HOST}ps -o pid,ppid,user,lstart,cmd -p {','.join(map(str, pids))}  # stop them by their owner"
