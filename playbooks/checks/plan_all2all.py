from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.interconnect import all2all
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.all2all"
PRIORITY = Priority.P1
WHY = "a backend that the fabric does not bear hangs at the first expert, or falls back to a crawl"

LOW_LATENCY = "deepep_low_latency"
_REMEDY = "--set all2all-backend=allgather_reducescatter"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    named = {value for one in needs.hosts if (value := all2all(one))}
    nodes = needs.layout.nodes or len(needs.hosts)
    if not named:
        return (skip(ID, "", "the plan names no all-to-all backend: vLLM takes its default"),)
    if "naive" in named and nodes > 1:
        observed = f"the backend is naive on {nodes} hosts"
        return (Finding(ID, Status.FAIL, "", observed, "a backend that works between hosts", _REMEDY),)
    if LOW_LATENCY in named and not needs.mnnvl and nodes > 1:
        return tuple(_of_host(facts[one.host]) for one in needs.hosts if one.host in facts)
    return (Finding(ID, Status.PASS, "", f"the backend is {', '.join(sorted(named))} on {nodes} hosts"),)


def _of_host(facts: HostFacts) -> Finding:
    required = f"RDMA adapters that mlx5 drives, or NVLink from tray to tray, for {LOW_LATENCY}"
    if not is_known(facts.rdma):
        return Finding(
            ID, Status.UNKNOWN, facts.host, str(facts.rdma), required, "on the host: ls /sys/class/infiniband"
        )
    by_mlx5 = [one for one in facts.rdma if (one.driver or one.name).startswith("mlx5")]
    if by_mlx5:
        return Finding(ID, Status.PASS, facts.host, f"mlx5 drives {len(by_mlx5)} adapters")
    others = ", ".join(f"{one.name}{f' ({one.driver})' if one.driver else ''}" for one in facts.rdma) or "none"
    return Finding(ID, Status.FAIL, facts.host, f"RDMA adapters: {others}", required, _REMEDY)
