from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.hw_support"
PRIORITY = Priority.P0
WHY = "kernels that a GPU lacks are missed at the first request, or give wrong text"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    support, hardware = needs.model.hardware_support, needs.hardware or "this hardware"
    model = needs.model.id or "the model"
    if support is None:
        return (skip(ID, "", "the recipe lists no hardware"),)
    required = f"the recipe lists {hardware} for {model}"
    remedy = f"invoke recipes.show --model {model}  # the hardware that it runs on"
    if support == "unsupported":
        return (
            Finding(
                ID,
                Status.FAIL,
                "",
                f"the recipe says that {model} does not run on {hardware}: unsupported",
                required,
                remedy,
            ),
        )
    if support == "unlisted":
        return (
            Finding(
                ID,
                Status.WARN,
                "",
                f"the recipe does not list {hardware}: nobody has said that it runs",
                required,
                remedy,
            ),
        )
    return (Finding(ID, Status.PASS, "", f"{hardware} is {support} for {model}"),)
