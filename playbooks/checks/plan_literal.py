from __future__ import annotations

import re
from collections.abc import Iterator

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "plan.literal"
PRIORITY = Priority.P0
WHY = "what a shell on the host would expand depends on that host, and inside a container it is empty"

EXPANDED = re.compile(r"\$\(.*?\)|\$\{[^}]*\}|\$[A-Za-z_]\w*|`[^`]*`")


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not needs.argv and not needs.env:
        return skip(ID, facts.host, "the plan renders no command here")
    wrong = [*left_over(needs)]
    required = "nothing in the rendered command is left for a shell to expand"
    if wrong:
        remedy = "write the value itself into the recipe or the inventory: bringup looks up what only the host knows"
        return Finding(ID, Status.FAIL, facts.host, "; ".join(wrong), required, remedy)
    return Finding(ID, Status.PASS, facts.host, "the command and its environment are literal")


def left_over(needs: HostRequirements) -> Iterator[str]:
    for word in needs.argv:
        if found := EXPANDED.search(word):
            yield f"{found[0]} in the command"
    for name, value in needs.env:
        if found := EXPANDED.search(value):
            yield f"{found[0]} in {name}"
