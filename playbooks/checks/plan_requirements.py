from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.launch_context import gpu_count
from playbooks.checks.version import before
from playbooks.finding import Finding, Status
from playbooks.requirements import Demands, HostRequirements, Requirements

ID = "plan.requirements"
PRIORITY = Priority.P1
WHY = "whoever wrote the recipe knew what it needs: hosts without that fail in ways that say nothing of it"

BOUND = re.compile(r"\s*(>=|<=|==|>|<)\s*([0-9][0-9.]*)\s*")
COMPARE = {">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    demands = needs.demands
    if demands is None:
        return (skip(ID, "", "the recipe has no block of requirements: they are unverified"),)
    findings = [Finding(ID, Status.FAIL, "", *text, _REMEDY) for text in _of_plan(demands, needs, facts)]
    for one in needs.hosts:
        if one.host in facts:
            findings += _of_host(facts[one.host], one, demands)
    return tuple(findings) or (Finding(ID, Status.PASS, "", "the hosts have what the recipe asks for"),)


_REMEDY = "choose other hosts, or another recipe or variant: invoke recipes.list"


def _of_plan(demands: Demands, needs: Requirements, facts: Mapping[str, HostFacts]) -> Iterator[tuple[str, str]]:
    """What is seen and what is asked for, of the plan as a whole."""
    counts = [gpu_count(facts[one.host], one) if one.host in facts else len(one.gpus) for one in needs.hosts]
    if demands.gpus is not None and sum(counts) < demands.gpus:
        yield f"{sum(counts)} GPUs are planned", f"{demands.gpus} GPUs"
    if demands.gpus_per_host is not None and min(counts, default=0) < demands.gpus_per_host:
        yield f"GPUs a host: {', '.join(map(str, counts))}", f"{demands.gpus_per_host} GPUs a host"
    if demands.vllm and needs.vllm_version and not within(needs.vllm_version, demands.vllm):
        yield f"vLLM {needs.vllm_version}", f"vLLM {demands.vllm}"


def _of_host(facts: HostFacts, needs: HostRequirements, demands: Demands) -> Iterator[Finding]:
    for observed, required in (*_driver(facts, demands), *_nic(facts, demands), *_disk(facts, demands)):
        status = Status.UNKNOWN if observed is None else Status.FAIL
        yield Finding(ID, status, needs.host, observed or "it could not be read", required, _REMEDY)


def _driver(facts: HostFacts, demands: Demands) -> Iterator[tuple[str | None, str]]:
    if not demands.driver:
        return
    driver = facts.gpus.driver if is_known(facts.gpus) else None
    if driver is None or not within(driver, demands.driver):
        yield driver and f"driver {driver}", f"driver {demands.driver}"


def _nic(facts: HostFacts, demands: Demands) -> Iterator[tuple[str | None, str]]:
    if not demands.nic:
        return
    required = f"RDMA adapters of {demands.nic}"
    if not is_known(facts.rdma):
        yield None, required
    elif not any(one.name.startswith(demands.nic) for one in facts.rdma):
        yield f"RDMA adapters: {', '.join(one.name for one in facts.rdma) or 'none'}", required


def _disk(facts: HostFacts, demands: Demands) -> Iterator[tuple[str | None, str]]:
    if demands.disk_gb is None and not demands.mounts:
        return
    if not is_known(facts.file_systems):
        yield None, "the file systems that the recipe asks for"
        return
    most = max((one.free_bytes for one in facts.file_systems), default=0) / 10**9
    if demands.disk_gb is not None and most < demands.disk_gb:
        yield f"at most {most:.0f} GB are free", f"{demands.disk_gb:g} GB of disk"
    mounted = {one.mount for one in facts.file_systems}
    for missing in (path for path in demands.mounts if path not in mounted):
        yield f"nothing is mounted at {missing}", f"a file system at {missing}"


def within(version: str, bounds: str) -> bool:
    """Whether a version lies in a range such as `>=580,<600`; a bound that cannot be read holds nothing back."""
    for bound in bounds.split(","):
        found = BOUND.fullmatch(bound)
        if found and not COMPARE[found[1]](_order(version, found[2]), 0):
            return False
    return True


def _order(one: str, other: str) -> int:
    """Less than, equal to or more than 0, as releases are in order."""
    return -1 if before(one, other) else 1 if before(other, one) else 0
