from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.host import HostFacts
from playbooks.argv import options
from playbooks.checks.base import Priority, by_value, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.revision"
PRIORITY = Priority.P1
WHY = "a branch moves: hosts that fetched it on different days serve different weights under one name"

COMMIT = re.compile(r"[0-9a-f]{40}")
OPTIONS = ("--revision", "--tokenizer-revision", "--code-revision")
_REMEDY = "--revision COMMIT  # the 40 digits that the hub shows for the branch"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    required = "one commit of the model, its tokenizer and its code, the same on every host"
    told = {one.host: options(one.argv) for one in needs.hosts if one.argv}
    for option in OPTIONS:
        values = {host: each.get(option) for host, each in told.items()}
        if len(set(values.values())) > 1:
            return (Finding(ID, Status.FAIL, "", f"{option}: {by_value(values)}", required, _REMEDY),)
    commits = {one.host: one.weights.commit for one in needs.hosts if one.weights and one.weights.commit}
    if len(set(commits.values())) > 1:
        return (Finding(ID, Status.FAIL, "", f"revision: {by_value(commits)}", required, _REMEDY),)
    named = {value for each in told.values() for option in OPTIONS if (value := each.get(option))}
    named |= {needs.model.revision} if needs.model.revision else set()
    if not named:
        return (skip(ID, "", "the plan names no revision"),)
    moving = sorted(one for one in named if not COMMIT.fullmatch(one))
    if moving:
        observed = f"{', '.join(map(repr, moving))} is a branch or tag, which can move"
        return (Finding(ID, Status.WARN, "", observed, required, _REMEDY),)
    return (Finding(ID, Status.PASS, "", f"pinned to {', '.join(one[:12] for one in sorted(named))}"),)
