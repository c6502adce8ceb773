"""Where ranks start: limits, CPUs, groups, environment; which of the files is the launch context's is in its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inventory.facts.base import NOT_ASKED, is_known
from inventory.facts.context import parse_report
from inventory.facts.context_parts import parse_numactl_probe
from inventory.facts.cpu import Position, count_cores
from inventory.facts.host import Cpu, HostFacts
from inventory.facts.lscpu import parse_lscpu_table
from tests.cases.reader import Files, Reader

Told = Mapping[str, Any]
PARTS = {
    "proc_self_status.txt": "status",
    "proc_self_limits.txt": "limits",
    "proc_dockerd_limits.txt": "engine-limits",
    "rank_cgroup.txt": "cgroup",
    "proc_self_cgroup.txt": "cgroup",
    "cgroup_limits.txt": "cgroup-limits",
    "df_shm.txt": "shm",
    "ls_shm.txt": "shm-files",
    "env.txt": "environment",
    "user_manager_env.txt": "environment",
    "id.txt": "id",
    "numactl_probe.txt": "numactl",
}
"""The part of a report that a file is; `in_container_`, `in_unit_` in front of the name tell where it was read."""

PLACES = {"in_container_": "container", "in_image_": "container", "in_unit_": "systemd-unit", "": "process-group"}
NAMES = tuple(f"{place}{name}" for place in PLACES for name in PARTS)


def _context(files: Files, _: HostFacts) -> Told:
    """All files of one host are one report. Nobody said that ranks are started with a clean environment."""
    place = next((where for prefix, where in PLACES.items() if any(_in(files, prefix))), "process-group")
    pieces = {PARTS[name]: text for prefix in PLACES for name, text in _in(files, prefix)}
    report = "".join(f"@ {part}\n{text.rstrip()}\n" for part, text in reversed(pieces.items()))
    context = replace(parse_report(report, place), is_cleared=False)  # type: ignore[arg-type]
    return {"context": context, "numa_bind": _bind(files)}


def _in(files: Files, prefix: str) -> list[tuple[str, str]]:
    return [(name, files.own[f"{prefix}{name}"]) for name in PARTS if f"{prefix}{name}" in files.own]


def _bind(files: Files) -> Any:  # noqa: ANN401
    return parse_numactl_probe(files.own["numactl_probe.txt"]) if "numactl_probe.txt" in files.own else NOT_ASKED


def _cpu(files: Files, so_far: HostFacts) -> Told:
    rows = parse_lscpu_table(files.own["lscpu_-p.txt"])
    online = tuple(sorted(rows))
    positions = _positions(rows)
    cores = count_cores(positions, online)
    cpu = Cpu("", len({socket for socket, _ in rows.values()}), online, online, cores, cores)
    found: dict[str, Any] = {"cpu": cpu}
    if is_known(so_far.context) and is_known(so_far.context.cpus_allowed):
        allowed = set(online).intersection(so_far.context.cpus_allowed)
        found["context"] = replace(so_far.context, physical_cores=count_cores(positions, allowed))
    return found


def _positions(rows: Mapping[int, tuple[int, int]]) -> dict[int, Position]:
    return {cpu: Position(package=str(socket), core=str(core)) for cpu, (socket, core) in rows.items()}


READERS: tuple[Reader, ...] = (
    Reader(NAMES, _context),
    Reader(("lscpu_-p.txt",), _cpu),
    Reader(("ulimit_-l_shell.txt", "ulimit_-n_shell.txt"), lambda *_: {}),  # of a shell: proves nothing
)
