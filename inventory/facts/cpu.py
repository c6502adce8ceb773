"""CPUs and physical cores, counted from /sys/devices/system/cpu.

Never by multiplying what `lscpu` prints: sockets x cores is wrong with offline CPUs, books and drawers, hybrid
processors and conflicting package ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.cpulist import parse_list, parse_mask
from inventory.facts.host import Cpu

TOPOLOGY = re.compile(r"/cpu(\d{1,6})/topology/([a-z_]+):(.*)")
EACH_ONLINE = re.compile(r"/cpu(\d{1,6})/online:(\d)")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a CPU sits, as far as the kernel tells. Books and drawers are s390's."""

    drawer: str = ""
    book: str = ""
    package: str = ""
    core: str = ""
    siblings: tuple[int, ...] = ()  # CPUs of this core
    package_siblings: tuple[int, ...] = ()  # CPUs of this package

    @property
    def socket(self) -> object:
        """What names a package: its CPUs where the kernel lists them; ids may be -1, or repeat in books and drawers."""
        return self.package_siblings or (self.drawer, self.book, self.package)

    @property
    def has_socket(self) -> bool:
        return bool(self.package_siblings or self.package)


def read_cpu(answers: Answers) -> Maybe[Cpu]:
    """The host's CPUs, and those that a process we start may use."""
    online = read_online(answers)
    if isinstance(online, Unknown):
        return online
    allowed = read_allowed(answers, online)
    if isinstance(allowed, Unknown):
        return allowed
    positions = read_positions(answers)
    packages = read_packages(positions, online)
    return Cpu(
        model=read_model(answers),
        sockets=len(packages),
        online=online,
        allowed=allowed,
        physical_cores=count_cores(positions, allowed),
        physical_cores_machine=count_cores(positions, online),
        packages=packages,
        cores=read_cores(positions, allowed),
    )


def read_packages(positions: Mapping[int, Position], online: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The online CPUs of each socket, by their first CPU; none where the kernel knows no sockets."""
    found: dict[object, list[int]] = {}
    for cpu in online:
        position = positions.get(cpu, Position())
        if position.has_socket:
            found.setdefault(position.socket, []).append(cpu)
    return tuple(tuple(cpus) for cpus in found.values())


def read_cores(positions: Mapping[int, Position], allowed: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The allowed CPUs of each core, by its first CPU; none where the kernel does not tell every CPU's core."""
    found: dict[object, list[int]] = {}
    for cpu in allowed:
        position = positions.get(cpu, Position())
        if not (position.siblings or position.core):
            return ()
        found.setdefault(core_of(cpu, position), []).append(cpu)
    return tuple(tuple(cpus) for cpus in found.values())


def read_allowed(answers: Answers, online: tuple[int, ...]) -> Maybe[tuple[int, ...]]:
    """The online CPUs of our affinity and our cpuset; a cgroup without a cpuset of its own narrows nothing."""
    item = answers.item("processor.allowed")
    if isinstance(item, Unknown):
        return item
    if item.status != 0 and not item.missing_file:
        return item.reason
    cpuset = answers.text("processor.cpuset")
    lists = [item.text, "" if isinstance(cpuset, Unknown) else cpuset]
    usable = set(online).intersection(*(parse_list(text) for text in lists if text.strip()))
    if not usable:
        return Unknown(Why.UNREADABLE, f"allowed CPUs {item.text.strip()[:60]!r}, none of them online")
    return tuple(sorted(usable))


def read_online(answers: Answers) -> Maybe[tuple[int, ...]]:
    """The online CPUs; kernels before 2.6.26 have no list, only a file for each CPU that can be switched off."""
    text = answers.text("processor.online")
    if not isinstance(text, Unknown):
        return parse_list(text)
    told = cpus_with_topology(answers) or cpus_in_cpuinfo(answers)
    each = answers.text("processor.online-each")
    off = () if isinstance(each, Unknown) else (int(cpu) for cpu, on in EACH_ONLINE.findall(each) if on == "0")
    return tuple(sorted(told - set(off))) or text


def cpus_with_topology(answers: Answers) -> set[int]:
    return set(read_positions(answers))


def cpus_in_cpuinfo(answers: Answers) -> set[int]:
    text = answers.text("processor.cpuinfo")
    return (
        set()
        if isinstance(text, Unknown)
        else {int(cpu) for cpu in re.findall(r"(?m)^processor\s*:\s*(\d{1,6})$", text)}
    )


def read_positions(answers: Answers) -> dict[int, Position]:
    """The position of every CPU that has one: offline CPUs have none."""
    positions: dict[int, Position] = {}
    for name in ("processor.topology", "processor.siblings"):
        text = answers.text(name)
        for cpu, field, value in TOPOLOGY.findall("" if isinstance(text, Unknown) else text):
            positions[int(cpu)] = placed(positions.get(int(cpu), Position()), field, value.strip("\0 "))
    return positions


def placed(position: Position, field: str, value: str) -> Position:
    match field:
        case "thread_siblings_list":
            return replace(position, siblings=parse_list(value))
        case "thread_siblings":
            return replace(position, siblings=parse_mask(value))
        case "core_siblings_list":
            return replace(position, package_siblings=parse_list(value))
        case "core_siblings":
            return replace(position, package_siblings=parse_mask(value))
        case "physical_package_id" | "core_id" | "book_id" | "drawer_id":
            # -1: the kernel does not know.
            return position if value.startswith("-") else with_id(position, field, value)
        case _:
            return position


def with_id(position: Position, field: str, value: str) -> Position:
    match field:
        case "physical_package_id":
            return replace(position, package=value)
        case "core_id":
            return replace(position, core=value)
        case "book_id":
            return replace(position, book=value)
        case _:
            return replace(position, drawer=value)


def parse_cpuinfo(text: str) -> dict[int, Position]:
    """The position of each processor of /proc/cpuinfo that tells one."""
    found: dict[int, Position] = {}
    for block in re.split(r"\n\s*\n", text):
        lines = dict(re.findall(r"(?m)^(processor|physical id|core id)\s*:\s*(\d{1,6})\s*$", block))
        if "processor" in lines:
            found[int(lines["processor"])] = Position(
                package=lines.get("physical id", ""), core=lines.get("core id", "")
            )
    return found


def count_cores(positions: Mapping[int, Position], cpus: Iterable[int]) -> int:
    """Distinct cores among `cpus`."""
    return len({core_of(cpu, positions.get(cpu, Position())) for cpu in cpus})


def core_of(cpu: int, position: Position) -> object:
    """What names a core: its threads where the kernel lists them, else its ids; a CPU that has neither is one."""
    if position.siblings:
        return position.siblings
    if position.core:
        return position.socket, position.core
    return cpu


def read_model(answers: Answers) -> str:
    """The model's name; empty if nobody tells it. lscpu knows ARM's names, which /proc/cpuinfo does not hold."""
    for name, pattern in (
        ("processor.lscpu", r"(?m)^\s*(?:BIOS )?Model name:\s*(.+)$"),
        ("processor.cpuinfo", r"(?m)^(?:model name|Model Name|cpu|uarch|Processor|Hardware)\s*:\s*(.+)$"),
    ):
        text = answers.text(name)
        found = () if isinstance(text, Unknown) else re.finditer(pattern, text)
        models = [model for match in found if (model := str(match[1]).strip()) not in {"", "-"}]
        if models:
            return models[0]
    return ""
