from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.argv import options
from playbooks.checks.base import Priority, skip
from playbooks.checks.version import before
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.tokenizer_mode"
PRIORITY = Priority.P0
WHY = "chat of these families is encoded by their own tokenizer mode: with another, answers are subtly wrong"

OF_FAMILY = (
    (r"deepseek-v3\.2", "deepseek_v32"),
    (r"deepseek-v4\.1", "deepseek_v41"),
    (r"deepseek-v4(?!\.)", "deepseek_v4"),
    (r"kimi-k3", "kimi_k3"),
)
"""By the model's name; all are registered in vLLM 0.33.0."""

CHOOSES_ITSELF = "0.33.0"
"""From this release `auto` takes the mode from the architecture (its own source): an explicit one is still safer."""

PARSERS = ("--tool-call-parser", "--reasoning-parser")


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    wanted = needs.model.tokenizer_mode or of_family(needs.model.id)
    told = {one.host: options(one.argv) for one in needs.hosts if one.argv}
    if not wanted or not told:
        return (skip(ID, "", "the family needs no tokenizer mode" if told else "the plan renders no command"),)
    required = f"--tokenizer-mode {wanted} on every host"
    lacking = {
        host: each.get("--tokenizer-mode") for host, each in told.items() if each.get("--tokenizer-mode") != wanted
    }
    if not lacking:
        return (Finding(ID, Status.PASS, "", f"{required} is set"),)
    values = sorted({str(value or "not set") for value in lacking.values()})
    parsers = sorted({str(each[flag]) for each in told.values() for flag in PARSERS if each.get(flag)})
    beside = f", beside the parsers {', '.join(parsers)}" if parsers else ""
    observed = f"--tokenizer-mode is {', '.join(values)} on {', '.join(lacking)}{beside}"
    another = any(value not in {None, "auto"} for value in lacking.values())
    chosen = not another and bool(needs.vllm_version) and not before(needs.vllm_version, CHOOSES_ITSELF)
    status = Status.WARN if chosen else Status.FAIL
    return (Finding(ID, status, "", observed, required, f"--set tokenizer-mode={wanted}"),)


def of_family(model: str) -> str | None:
    return next((mode for pattern, mode in OF_FAMILY if re.search(pattern, model.lower())), None)
