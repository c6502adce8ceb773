from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.checks.version import before
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.min_version"
PRIORITY = Priority.P0
WHY = "an older vLLM does not know the model's architecture and ends while it reads the configuration"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    minimum, version = needs.model.minimum_vllm, needs.vllm_version
    if not minimum or not version:
        return (skip(ID, "", "the recipe asks for no oldest vLLM" if version else "the plan names no vLLM"),)
    required = f"vLLM {minimum} or later for {needs.model.id or 'the model'} {needs.model.variant}".rstrip()
    if before(version, minimum):
        remedy = "choose a later vLLM in the recipe, or another variant: --variant VARIANT"
        return (Finding(ID, Status.FAIL, "", f"the plan runs vLLM {version}", required, remedy),)
    return (Finding(ID, Status.PASS, "", f"vLLM {version}, needed is {minimum}"),)
