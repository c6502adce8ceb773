"""`lscpu`: a second opinion on CPUs, and all there is in a pasted report. On a host /sys is counted instead."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from inventory.facts.cpulist import parse_list

LINE = re.compile(r"^[ \t]*([^:\n]{1,60}?):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
NODE = re.compile(r"NUMA node\s?(\d{1,6}) CPU\(s\)")


@dataclass(frozen=True, slots=True)
class Lscpu:
    """Texts and numbers as printed; None where the line is missing or is no number (`-`).

    `sockets` and `cores` are the machine's: summed over the types of CPU (big.LITTLE), multiplied by books and drawers.
    """

    architecture: str | None = None
    model: str | None = None
    hypervisor: str | None = None
    cpus: int | None = None
    online: str | None = None
    offline: str | None = None
    threads_per_core: int | None = None
    cores_per_socket: int | None = None
    sockets: int | None = None
    cores: int | None = None
    numa_node_count: int | None = None
    numa_nodes: dict[int, str] = field(default_factory=dict)

    @property
    def online_count(self) -> int | None:
        return len(parse_list(self.online)) if self.online else None

    @property
    def nodes_without_cpus(self) -> tuple[int, ...]:
        return tuple(node for node, cpus in self.numa_nodes.items() if not cpus)


def parse_lscpu(text: str) -> Lscpu:
    """Whatever of it is there: a report may hold a part, in the order of any version."""
    lines: dict[str, list[str]] = {}
    for label, value in LINE.findall(text):
        lines.setdefault(label, []).append(value)
    first = {label: values[0] for label, values in lines.items()}
    sockets = machine_sockets(lines)
    return Lscpu(
        architecture=first.get("Architecture"),
        model=first.get("Model name"),
        hypervisor=first.get("Hypervisor vendor"),
        cpus=number(first.get("CPU(s)")),
        online=cpu_set(first.get("On-line CPU(s) list")),
        offline=cpu_set(first.get("Off-line CPU(s) list")),
        threads_per_core=number(first.get("Thread(s) per core")),
        cores_per_socket=number(first.get("Core(s) per socket")),
        sockets=sockets,
        cores=machine_cores(lines),
        numa_node_count=number(first.get("NUMA node(s)")),
        numa_nodes=node_lists(first),
    )


def parse_lscpu_table(text: str) -> dict[int, tuple[int, int]]:
    """Socket and core of each CPU that `lscpu -p` lists; columns by the names in its head, else CPU, Core, Socket."""
    names = ["cpu", "core", "socket"]
    found: dict[int, tuple[int, int]] = {}
    for line in text.splitlines():
        words = [word.strip() for word in line.lstrip("# ").split(",")]
        if line.startswith("#"):
            names = [word.lower() for word in words] if words[0].lower() == "cpu" else names
        elif len(words) >= len(names) and words[0].isdecimal():
            row = dict(zip(names, words, strict=False))
            socket, core = (int(row[name]) if row.get(name, "").isdecimal() else 0 for name in ("socket", "core"))
            found[int(row["cpu"])] = (socket, core)
    return found


def node_lists(lines: dict[str, str]) -> dict[int, str]:
    """The CPUs of each node as printed; a line that is damaged is left out."""
    found = {int(match[1]): cpus for label, cpus in lines.items() if (match := NODE.fullmatch(label))}
    return {node: cpus for node, cpus in found.items() if not cpus or cpu_set(cpus)}


def number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else None


def cpu_set(text: str | None) -> str | None:
    """The list as printed, if it is one."""
    try:
        return text if text and parse_list(text) else None
    except ValueError:
        return None


def machine_sockets(lines: dict[str, list[str]]) -> int | None:
    """Sockets of the machine: s390 counts them in a book, books in a drawer."""
    books = [number(value) for value in lines.get("Book(s)", lines.get("Book(s) per drawer", ["1"]))]
    drawers = number(lines.get("Drawer(s)", ["1"])[0])
    sockets = [number(value) for value in lines.get("Socket(s)", lines.get("Socket(s) per book", []))]
    if not sockets or None in (*sockets, *books, drawers):
        return None
    return max(one or 0 for one in sockets) * (books[0] or 0) * (drawers or 0)


def machine_cores(lines: dict[str, list[str]]) -> int | None:
    """Cores of the machine: of each type of CPU its cores times its sockets, or its cores in all its clusters."""
    books = (number(lines.get("Book(s)", lines.get("Book(s) per drawer", ["1"]))[0]) or 0) * (
        number(lines.get("Drawer(s)", ["1"])[0]) or 0
    )
    by_socket = products(lines, "Core(s) per socket", "Socket(s)" if "Socket(s)" in lines else "Socket(s) per book")
    by_cluster = products(lines, "Core(s) per cluster", "Cluster(s)")
    total = (by_socket or by_cluster) * books
    return total or None


def products(lines: dict[str, list[str]], each: str, times: str) -> int:
    pairs = zip(lines.get(each, []), lines.get(times, []), strict=False)
    return sum((number(cores) or 0) * (number(count) or 0) for cores, count in pairs)
