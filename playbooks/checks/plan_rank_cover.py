from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.rank_cover"
PRIORITY = Priority.P0
WHY = "a rank that nobody starts, or two hosts start, leaves all others waiting for it"

_REMEDY = "invoke deploy --dry-run --json  # and report the plan: bringup placed the ranks wrongly"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    size = needs.data_parallel_size
    required = f"ranks 0 to {size - 1} once each, in one run per host, rank 0 on the head"
    wrong = "; ".join(faults(needs))
    if wrong:
        return (Finding(ID, Status.FAIL, "", wrong, required, _REMEDY),)
    runs = ", ".join(f"{host} {len(list(ranks))}" for host, ranks in groupby(needs.ranks))
    return (Finding(ID, Status.PASS, "", f"{size} ranks: {runs}"),)


def faults(needs: Requirements) -> list[str]:
    """Everything that is wrong with the map from ranks to hosts."""
    hosts = [one.host for one in needs.hosts]
    runs = [host for host, _ in groupby(needs.ranks)]
    wrong = []
    if len(needs.ranks) != needs.data_parallel_size:
        wrong.append(f"{len(needs.ranks)} ranks are placed, data parallel size is {needs.data_parallel_size}")
    wrong += [f"rank {i} is on {h!r}, which is not in the plan" for i, h in enumerate(needs.ranks) if h not in hosts]
    wrong += [f"the ranks of {host!r} are not in one run" for host in set(runs) if runs.count(host) > 1]
    if needs.ranks and needs.ranks[0] != needs.head:
        wrong.append(f"rank 0 is on {needs.ranks[0]!r}, the head is {needs.head!r}")
    for one in needs.hosts:
        placed = needs.ranks.count(one.host)
        if placed != one.processes.engine_cores:
            wrong.append(f"{one.host!r} has {placed} ranks and starts {one.processes.engine_cores} engine cores")
    return wrong
