"""Where ranks start: limits, CPUs, groups, environment; which of the files is the launch context's is in its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch
from typing import Any

from inventory.facts.base import NOT_ASKED, is_known
from inventory.facts.context import Where, parse_report
from inventory.facts.context_parts import parse_numactl_probe
from inventory.facts.cpu import Position, count_cores, parse_cpuinfo
from inventory.facts.host import Cpu, HostFacts, NumaBind
from inventory.facts.lscpu import parse_lscpu_table
from tests.cases.reader import Files, Reader

Told = Mapping[str, Any]
GROUP = "/sys/fs/cgroup/ranks"
PARTS = (
    ("*dockerd_limits*", "engine-limits", ""),
    ("*proc_*limits*", "limits", ""),
    ("*proc_*status*", "status", ""),
    ("*rank_cgroup*", "cgroup", ""),
    ("*proc_*cgroup*", "cgroup", ""),
    ("*memory*max*", "cgroup-limits", f"{GROUP}/memory.max:"),
    ("*pids*max*", "cgroup-limits", f"{GROUP}/pids.max:"),
    ("*pids*current*", "cgroup-limits", f"{GROUP}/pids.current:"),
    ("*threads-max*", "kernel", "/proc/sys/kernel/threads-max:"),
    ("*pid_max*", "kernel", "/proc/sys/kernel/pid_max:"),
    ("*df*shm*", "shm", ""),
    ("*ls*shm*", "shm-files", ""),
    ("*env.txt", "environment", ""),
    ("id.txt", "id", ""),
    ("in_*_id.txt", "id", ""),
    ("ulimit_-u*", "limits", "Max processes   "),
    ("*TasksMax*", "cgroup-limits", ""),
)
"""The part of a report that a file is, and what stands before it in the report where the file is a bare value."""

PLACES: tuple[tuple[str, Where], ...] = (
    ("in_container_", "container"),
    ("in_image_", "container"),
    ("in_unit_", "systemd-unit"),
)


def _context(files: Files, _: HostFacts) -> Told:
    """All files of one host are one report. Nobody said that ranks are started with a clean environment."""
    named = [(name, part_of(name), text) for name, text in files.own.items()]
    told = [(name, part, text) for name, part, text in named if part]
    inside = {part[0] for name, part, _ in told if name.startswith("in_")}
    told = [(name, part, text) for name, part, text in told if name.startswith("in_") or part[0] not in inside]
    place = next((where for prefix, where in PLACES if any(name.startswith(prefix) for name, *_rest in told)), None)
    pieces: dict[str, str] = {}
    for _name, (part, before), text in told:
        pieces[part] = f"{pieces.get(part, '')}{as_told(before, text)}\n"
    report = "".join(f"@ {part}\n{text}" for part, text in pieces.items())
    context = replace(parse_report(report, place or "process-group"), is_cleared=False)
    return {"context": context if pieces else NOT_ASKED}


def as_told(before: str, text: str) -> str:
    """In the form of the report: a bare value after what stands before it, with units of systemd and ulimit."""
    tasks = re.search(r"TasksMax=(\d+|infinity)", text)
    if tasks:
        return f"{GROUP}/unit/pids.max:{tasks[1].replace('infinity', 'max')}"
    if before.startswith("Max "):
        return f"{before}{text.strip()}   {text.strip()}   processes"
    value = text.strip().rpartition("=")[2].strip() if before.endswith(":") else text.strip()
    return f"{before}{value}" if before else text.rstrip()


def part_of(name: str) -> tuple[str, str] | None:
    return next(((part, before) for pattern, part, before in PARTS if fnmatch(name, pattern)), None)


def _cpu(files: Files, so_far: HostFacts) -> Told:
    positions: dict[int, Position] = {}
    for text in files.texts("*lscpu_-p*"):
        rows = parse_lscpu_table(text).items()
        positions |= {cpu: Position(package=str(socket), core=str(core)) for cpu, (socket, core) in rows}
    for text in files.texts("*cpuinfo*"):
        positions |= parse_cpuinfo(text)
    online = tuple(sorted(positions))
    cores = count_cores(positions, online)
    cpu = Cpu("", len({one.package for one in positions.values()}), online, online, cores, cores)
    found: dict[str, Any] = {"cpu": cpu}
    if is_known(so_far.context) and is_known(so_far.context.cpus_allowed):
        allowed = set(online).intersection(so_far.context.cpus_allowed)
        found["context"] = replace(so_far.context, physical_cores=count_cores(positions, allowed))
    return found


def _bind(files: Files, _: HostFacts) -> Told:
    tried = files.texts("*numactl_probe*")
    if tried:
        return {"numa_bind": parse_numactl_probe(tried[0])}
    where = " ".join(files.texts("*v_numactl*", "*which_numactl*"))
    return {"numa_bind": NumaBind(numactl="/" in where)}


READERS: tuple[Reader, ...] = (
    Reader(tuple(pattern for pattern, _, _ in PARTS), _context),
    Reader(("*lscpu_-p*", "*cpuinfo*"), _cpu),
    Reader(("*numactl_probe*", "*v_numactl*", "*which_numactl*"), _bind),
    Reader(("ulimit_-l*", "ulimit_-n*", "ulimit_-a*"), lambda *_: {}),  # of a shell: proves nothing
)
