"""Locked memory where ranks start. RDMA registers its buffers with the NIC, and registered memory is locked."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Maybe, Unknown, is_known
from inventory.facts.host import HostFacts, Limit
from playbooks.checks.base import Priority, skip
from playbooks.checks.launch_context import LOOK, could_not_be_read, part_of, place_of, raise_limit, ulimit
from playbooks.finding import Finding, Status
from playbooks.requirements import Container, Requirements

ID = "os.memlock"
PRIORITY = Priority.P0
WHY = "engines over RDMA cannot register their buffers, and the first collective fails with ENOMEM or falls back to TCP"

LEAST = 64 << 20
_REQUIRED = "unlimited locked memory where the ranks start; below 64 MiB RDMA fails"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.rdma is not True:
        told = (
            "no RDMA is planned" if needs.rdma is False else "the plan does not tell whether the ranks talk over RDMA"
        )
        return (skip(ID, "", told),)
    return tuple(_of_host(facts[one.host], needs.container) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, container: Container | None) -> Finding:
    limit, place = limit_of(facts, container)
    if isinstance(limit, Unknown):
        if could_not_be_read(limit):
            return Finding(ID, Status.UNKNOWN, facts.host, str(limit), _REQUIRED, LOOK)
        return Finding(ID, Status.WARN, facts.host, f"the limit of {place} was not looked at", _REQUIRED, LOOK)
    observed = f"{amount(limit)} locked memory in {place}"
    if limit.soft is None:
        return Finding(ID, Status.PASS, facts.host, observed)
    remedy = raise_limit(facts, "memlock", docker="memlock=-1", number="unlimited")
    if container is not None:
        remedy = "add to docker's arguments: --ulimit memlock=-1  # the ulimit of a shell proves nothing"
    if part_of(facts, lambda context: context.ipc_lock) is True:
        return Finding(ID, Status.WARN, facts.host, f"{observed}, which CAP_IPC_LOCK lifts", _REQUIRED, remedy)
    status = Status.FAIL if limit.soft < LEAST else Status.WARN
    return Finding(ID, status, facts.host, observed, _REQUIRED, remedy)


def limit_of(facts: HostFacts, container: Container | None) -> tuple[Maybe[Limit], str]:
    """The limit that counts, and where it is: in a container its own, else what docker would hand out."""
    inside = is_known(facts.context) and facts.context.where == "container"
    if container is None or inside:
        return part_of(facts, lambda context: context.locked_memory), place_of(facts)
    asked = ulimit(container.arguments or (), "memlock")
    if asked:
        soft, hard = (None if one < 0 else one for one in asked)
        return Limit(soft, hard), "a container with the planned --ulimit"
    engine = part_of(facts, lambda context: context.engine_locked_memory)
    return engine, "a container, which has docker's own limit"


def amount(limit: Limit) -> str:
    return "unlimited" if limit.soft is None else f"{limit.soft / 2**20:.0f} MiB ({limit.soft} bytes)"
