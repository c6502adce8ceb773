from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.flags_parse"
PRIORITY = Priority.P0
WHY = "vLLM exits at once on an option that its version does not know"

_REMEDY = "correct the option in the recipe, then: invoke deploy --dry-run"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    required = f"every rendered option is one of vLLM {needs.vllm_version}"
    refused = tuple(Finding(ID, Status.FAIL, h, what, required, _REMEDY) for h, what in needs.argv_errors)
    return refused or (Finding(ID, Status.PASS, "", f"vLLM {needs.vllm_version}'s option schema takes every command"),)
