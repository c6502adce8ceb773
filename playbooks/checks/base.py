"""What all checks share: their shape, and the few sentences that several of them say.

A check compares facts with requirements and touches nothing. A remedy is a command to type on the control
machine or, behind `ON_HOST`, on the host of the finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import Protocol, TypeVar

from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.host import Gpu, HostFacts, Listener
from inventory.quoting import quote
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

T = TypeVar("T")

ON_HOST = "on the host: "


class Priority(StrEnum):
    P0 = "P0"  # stops or silently ruins most deployments
    P1 = "P1"  # stops some
    P2 = "P2"  # slow, or an early warning


class Check(Protocol):
    """`WHY` is one line for the operator: what goes wrong when this is not so."""

    ID: str
    PRIORITY: Priority
    WHY: str


class HostCheck(Check, Protocol):
    def check(self, facts: HostFacts, needs: HostRequirements, /) -> Finding: ...


class GangCheck(Check, Protocol):
    def check(self, facts: Mapping[str, HostFacts], needs: Requirements, /) -> tuple[Finding, ...]: ...


def unread(check: str, host: str, fact: Unknown, required: str, look: str) -> Finding:
    """The finding for a fact that could not be read; `look` is the command that shows why."""
    return Finding(check, Status.UNKNOWN, host, str(fact), required, look)


def by_playbook(host: str, playbook: str, by_hand: str) -> str:
    """The command that brings a host to what a playbook of bringup says, and what is done by hand without it."""
    return f"invoke install --hosts {quote(host)} --playbook {playbook}  # or {by_hand}"


def skip(check: str, host: str, reason: str) -> Finding:
    return Finding(check, Status.SKIP, host, reason)


def gpu_memory(gpu: Gpu, facts: HostFacts) -> int | None:
    """Bytes of `gpu`; where memory is unified, the host's. None: not known."""
    if gpu.memory_bytes is not None:
        return gpu.memory_bytes
    return facts.memory.total_bytes if is_known(facts.memory) else None


def of_each(
    facts: Mapping[str, HostFacts], needs: Requirements, read: Callable[[HostFacts], Maybe[T]]
) -> tuple[dict[str, T], dict[str, Unknown]]:
    """One fact of every host of the gang: the known ones, and the unknown ones with their reasons."""
    known: dict[str, T] = {}
    unknown: dict[str, Unknown] = {}
    for one in needs.hosts:
        fact = read(facts[one.host]) if one.host in facts else Unknown(Why.NOT_ASKED, "no facts of this host")
        if is_known(fact):
            known[one.host] = fact
        else:
            unknown[one.host] = fact
    return known, unknown


def nodes_of(needs: Requirements) -> int:
    """How many hosts the launch spans: as many as the plan says, even where facts of fewer are at hand."""
    return max(needs.layout.nodes or 0, len(needs.hosts))


def by_value(values: Mapping[str, object]) -> str:
    """What each host says, the most frequent first: `9000 on tray1, tray3; 1500 on tray2`."""
    order = [value for value, _ in Counter(values.values()).most_common()]
    hosts = {value: ", ".join(h for h, v in values.items() if v == value) for value in order}
    return "; ".join(f"{value} on {hosts[value]}" for value in order)


def odd_ones(values: Mapping[str, object]) -> tuple[str, ...]:
    """The hosts that do not say what most say (of two that differ, the second)."""
    usual = Counter(values.values()).most_common(1)[0][0]
    return tuple(host for host, value in values.items() if value != usual)


def pids_of(listener: Listener) -> set[int]:
    """The processes that hold a port, as far as the kernel tells them."""
    return {int(number) for number in re.findall(r"\d+", listener.process or "")}


def gib(size: int) -> str:
    """Memory, as vLLM's log and the kernel count it."""
    return f"{size / 2**30:.1f} GiB"


def gb(size: int) -> str:
    """Disk space, as file systems and hubs count it."""
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size / 1e6:.0f} MB"


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,8` for 0, 1, 2, 3, 8."""
    ordered = sorted(set(numbers))
    if not ordered:
        return "none"
    breaks = [i + 1 for i, (a, b) in enumerate(pairwise(ordered)) if b != a + 1]
    runs = [ordered[a:b] for a, b in pairwise([0, *breaks, len(ordered)])]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
