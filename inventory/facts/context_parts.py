"""The parts of a report of sh/context.sh, each in the form of the command or the file that it came from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.cpulist import parse_list
from inventory.facts.host import Device, Leftover, Limit, NumaBind, Pids, SharedMemory

LIMIT = r"(?mi)^\s*Max {}\s+(unlimited|\d{{1,20}})\s+(unlimited|\d{{1,20}})(?:\s|$)"
CGROUP_FILE = re.compile(r"(?m)^(.*)/(memory\.max|memory\.limit_in_bytes|pids\.max|pids\.current):(max|\d{1,20})$")
NO_LIMIT = 1 << 62
"""What cgroups v1 print where memory has no limit is near 2 ** 63."""

DISK = re.compile(r"(?m)^\S+\s+(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s+\d{1,3}%\s+/dev/shm$")
LISTED = re.compile(r"(?m)^-\S+\s+\d+\s+(\d+)\s+\d+\s+(\d+)\s.*?(/dev/shm/\S+)$")
DEVICE = re.compile(r"(?m)^(opens|denied) (/dev/\S+)$")
OWNED = re.compile(r"(?m)^([a-z-][rwxsStT.+-]{9,11}) (\S+) (\S+) (\d{1,10}) (/dev/\S+)$")
BOUND = re.compile(r"(?m)^numactl --cpunodebind=(\d{1,4})( --membind=\d{1,4})? true -> rc=(\d{1,3})\s*$")
VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")


def parse_limit(text: str, name: str) -> Maybe[Limit]:
    """One line of /proc/PID/limits: `parse_limit(text, "open files")`."""
    found = re.search(LIMIT.format(re.escape(name)), text)
    if found is None:
        return Unknown(Why.UNREADABLE, f"no line `Max {name}`")
    soft, hard = (None if value == "unlimited" else int(value) for value in found.groups())
    return Limit(soft, hard)


def parse_status_list(text: str, name: str) -> Maybe[tuple[int, ...]]:
    """A list of /proc/PID/status: `Cpus_allowed_list`, `Mems_allowed_list`."""
    found = re.search(rf"(?m)^{name}:\s*([\d,:-]+)\s*$", text)
    if found is None:
        return Unknown(Why.UNREADABLE, f"no {name}")
    try:
        return parse_list(found[1])
    except ValueError as error:
        return Unknown(Why.UNREADABLE, str(error))


def parse_capability(text: str, bit: int) -> Maybe[bool]:
    """Whether /proc/PID/status has a capability in effect."""
    found = re.search(r"(?m)^CapEff:\s*([0-9a-fA-F]{1,32})\s*$", text)
    return Unknown(Why.UNREADABLE, "no CapEff") if found is None else bool(int(found[1], 16) >> bit & 1)


def parse_memory_maximum(text: str) -> Maybe[int | None]:
    """The lowest of `FOLDER/memory.max:VALUE`, a line a group; None: no limit."""
    told = [value for _, name, value in CGROUP_FILE.findall(text) if name.startswith("memory")]
    if not told:
        return Unknown(Why.UNREADABLE, "no cgroup tells a limit of memory")
    return min((int(value) for value in told if value != "max" and int(value) < NO_LIMIT), default=None)


def parse_pids(cgroups: str, kernel: str = "") -> Pids:
    """The group that is nearest to its limit, of `FOLDER/pids.max:VALUE`; `kernel`: `PATH:VALUE` of the sysctls."""
    groups: dict[str, dict[str, str]] = {}
    for folder, name, value in CGROUP_FILE.findall(cgroups):
        groups.setdefault(folder, {})[name] = value
    limited = [
        (int(one["pids.max"]), int(one["pids.current"]) if "pids.current" in one else None)
        for one in groups.values()
        if one.get("pids.max", "max") != "max"
    ]
    maximum, current = min(limited, key=lambda one: one[0] - (one[1] or 0), default=(None, None))
    threads = re.search(r"(?m)(?:^|loadavg:)(?:\d+\.\d+ ){3}\d+/(\d{1,9}) \d+$", kernel)
    return Pids(
        maximum,
        current,
        threads_maximum=_sysctl(kernel, "threads-max"),
        pid_maximum=_sysctl(kernel, "pid_max"),
        threads=int(threads[1]) if threads else None,
    )


def _sysctl(text: str, name: str) -> int | None:
    found = re.search(rf"(?m)[/.]{name}\s*[:=]\s*(\d{{1,12}})$", text)
    return int(found[1]) if found else None


def parse_shared_memory(disk: str, files: str = "") -> Maybe[SharedMemory]:
    """`disk`: `df -P -k /dev/shm`, or `df -B1`; `files`: `ls -ln` of what engines leave, and `mapped PATH` lines."""
    found = DISK.search(disk)
    if found is None:
        return Unknown(Why.UNREADABLE, "no /dev/shm in what df says")
    unit = 1 if re.search(r"\b1(?:B)?-blocks", disk) else 1024
    mapped = set(re.findall(r"(?m)^mapped (\S+)$", files))
    leftovers = tuple(Leftover(path, int(size), int(uid), path in mapped) for uid, size, path in LISTED.findall(files))
    return SharedMemory(int(found[1]) * unit, int(found[3]) * unit, leftovers)


def parse_environment(lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """`NAME=value` lines; what is none is left out, of two with one name the last counts."""
    found = (VARIABLE.fullmatch(line.strip()) for line in lines)
    return tuple(sorted({match[1]: match[2] for match in found if match}.items()))


def parse_devices(text: str) -> tuple[Device, ...]:
    """`opens PATH` or `denied PATH`, then `MODE USER GROUP GID PATH` of each."""
    owners = {path: (group, int(gid), mode) for mode, _, group, gid, path in OWNED.findall(text)}
    return tuple(
        Device(path, opens=said == "opens", group=group, gid=gid, mode=mode)
        for said, path in DEVICE.findall(text)
        for group, gid, mode in (owners.get(path, ("", None, "")),)
    )


def parse_numactl_probe(text: str) -> Maybe[NumaBind]:
    """`numactl --cpunodebind=N --membind=N true -> rc=R` for each node; without the memory where that failed."""
    if re.search(r"numactl: (command )?not found", text):
        return NumaBind(numactl=False)
    tried = [(int(node), bool(memory), status == "0") for node, memory, status in BOUND.findall(text)]
    if not tried:
        return Unknown(Why.UNREADABLE, "numactl was not tried for any node")
    memory = {node for node, with_memory, worked in tried if with_memory and worked}
    cpu = {node for node, _, worked in tried if worked}
    nodes = tuple(sorted({node for node, _, _ in tried}))
    return NumaBind(numactl=True, cpu=tuple(sorted(cpu)), memory=tuple(sorted(memory)), tried=nodes)


def parse_id(text: str) -> tuple[str, int | None, tuple[int, ...]]:
    """User, uid and group ids of `uid=1000(ops) gid=1000(ops) groups=1000(ops),44(video)`."""
    user = re.search(r"\buid=(\d{1,10})(?:\(([^)\s]*)\))?", text)
    groups = re.search(r"\bgroups=(\S+)", text)
    numbers = re.findall(r"(?:^|,)(\d{1,10})", groups[1]) if groups else re.findall(r"\bgid=(\d{1,10})", text)
    return (user[2] or "" if user else "", int(user[1]) if user else None, tuple(map(int, numbers)))
