from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.vllm_port"
PRIORITY = Priority.P0
WHY = "from VLLM_PORT on vLLM looks for its own ports: all ranks of a host then race for the same ones"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    found = {one.host: dict(one.env)["VLLM_PORT"] for one in needs.hosts if "VLLM_PORT" in dict(one.env)}
    if not found:
        return (Finding(ID, Status.PASS, "", "VLLM_PORT is not set"),)
    layout = needs.layout
    several = max(needs.data_parallel_size, layout.data_parallel or 1, layout.tensor_parallel or 1, layout.nodes or 1)
    alone = several == 1 and len(needs.hosts) == 1
    remedy = "take VLLM_PORT out of the environment; the public port is --port"
    return tuple(
        Finding(
            ID,
            Status.WARN if alone else Status.FAIL,
            host,
            f"VLLM_PORT={value} is set" + ("" if alone else f" for a launch of {several} ranks"),
            "VLLM_PORT is not set",
            remedy,
        )
        for host, value in found.items()
    )
