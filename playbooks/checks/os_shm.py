"""Shared memory where ranks start, and what dead engines left in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from inventory.facts.base import Maybe, Unknown, is_known
from inventory.facts.host import HostFacts, Leftover, SharedMemory
from inventory.quoting import quote_all
from playbooks.checks.base import ON_HOST, Priority, gib, skip, unread
from playbooks.checks.launch_context import could_not_be_read, gpu_count, option, part_of, place_of, tuned
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, HostRequirements, Requirements

ID = "os.shm"
PRIORITY = Priority.P0
WHY = "workers hand each other tensors and messages in /dev/shm: NCCL and the engine stop when it is full"

LEAST, ENOUGH = 1 << 30, 16 << 30
LEFT_SHARE = 0.1
DOCKER_DEFAULT = 64 << 20
UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_REQUIRED = "at least 1 GiB of /dev/shm for several GPUs, and 16 GiB to be safe"
_LOOK = f"{ON_HOST}df -h /dev/shm; ls -l /dev/shm"
_GROW = "or by hand: sudo mount -o remount,size=32g /dev/shm; for a container: --ipc=host or --shm-size=32g"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    return tuple(_of_host(facts[one.host], one, needs.container) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, needs: HostRequirements, container: Container | None) -> Finding:
    memory, place = memory_of(facts, container)
    gpus = gpu_count(facts, needs)
    several = max(gpus, needs.processes.workers) > 1
    if isinstance(memory, Unknown):
        if several and could_not_be_read(memory):
            return unread(ID, facts.host, memory, _REQUIRED, _LOOK)
        return skip(ID, facts.host, f"the shared memory of {place} was not looked at")
    return judge(facts.host, memory, place, gpus=gpus, several=several)


def judge(host: str, memory: SharedMemory, place: str, *, gpus: int, several: bool) -> Finding:
    observed = f"{gib(memory.total_bytes)} of shared memory in {place}, {gib(memory.free_bytes)} free"
    left = dead(memory.leftovers)
    if memory.total_bytes < LEAST and gpus > 1:
        return Finding(ID, Status.FAIL, host, observed, _REQUIRED, f"{tuned(host)}  # {_GROW}")
    if sum(one.bytes for one in left) > LEFT_SHARE * memory.total_bytes:
        return _left(host, observed, left)
    if several and (memory.total_bytes < ENOUGH or memory.free_bytes < LEAST):
        return Finding(ID, Status.WARN, host, observed, _REQUIRED, f"{tuned(host)}  # {_GROW}")
    return Finding(ID, Status.PASS, host, observed)


def memory_of(facts: HostFacts, container: Container | None) -> tuple[Maybe[SharedMemory], str]:
    """What the ranks will have: a container has its own unless it shares the host's."""
    found = part_of(facts, lambda context: context.shared_memory)
    inside = is_known(facts.context) and facts.context.where == "container"
    if container is not None and not inside and container.arguments is not None:
        words = container.arguments
        if "host" not in option(words, "--ipc"):
            size = parse_size((*option(words, "--shm-size"), "")[0])
            size = DOCKER_DEFAULT if size is None else size
            return SharedMemory(size, size), "a container with the planned arguments"
    if isinstance(found, Unknown) and is_known(facts.memory) and facts.memory.shm_bytes:
        return SharedMemory(facts.memory.shm_bytes, facts.memory.shm_bytes), "the login"
    return found, place_of(facts)


def parse_size(text: str) -> int | None:
    """`32g`, `512m`, `67108864` as docker reads them."""
    found = re.fullmatch(r"(\d{1,18})([bkmg]?)b?", text.strip().lower())
    return int(found[1]) * UNITS[found[2]] if found else None


def dead(leftovers: Sequence[Leftover]) -> list[Leftover]:
    return [one for one in leftovers if not one.mapped]


def _left(host: str, observed: str, left: Sequence[Leftover]) -> Finding:
    names = [one.name for one in sorted(left, key=lambda one: -one.bytes)]
    size = sum(one.bytes for one in left)
    text = f"{observed}; {len(left)} files that nobody uses take {gib(size)}: {', '.join(names[:3])}"
    remedy = f"{ON_HOST}ls -l /dev/shm; rm {quote_all(names[:3])}  # those of dead owners that are yours"
    return Finding(ID, Status.WARN, host, text, "nothing that dead engines left", remedy)
