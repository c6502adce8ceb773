from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from inventory.facts.host import HostFacts
from playbooks.argv import options
from playbooks.checks.base import Priority, ranges, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "plan.rank_cover"
PRIORITY = Priority.P0
WHY = "a rank that nobody starts, or two hosts start, leaves all others waiting for it"

FIRST = ("--data-parallel-start-rank", "--data-parallel-rank")
_REMEDY = "invoke deploy --dry-run --json  # and report the plan: bringup placed the ranks wrongly"


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    size = needs.data_parallel_size or size_told(needs)
    if not size and not needs.ranks:
        return (skip(ID, "", "the plan does not tell how many ranks there are"),)
    required = f"ranks 0 to {size - 1} once each, in one run per host, rank 0 on the head"
    spans = told_spans(needs, size)
    wrong = "; ".join([*(faults(needs) if needs.ranks or not spans else ()), *uncovered(spans, size)])
    if wrong:
        return (Finding(ID, Status.FAIL, "", wrong, required, _REMEDY),)
    runs = ", ".join(f"{host} {len(list(ranks))}" for host, ranks in groupby(needs.ranks))
    runs = runs or ", ".join(f"{host} {len(span)}" for host, span in spans.items() if span)
    return (Finding(ID, Status.PASS, "", f"{size} ranks: {runs}"),)


def size_told(needs: Requirements) -> int:
    return max((whole(options(one.argv).get("--data-parallel-size")) or 0 for one in needs.hosts), default=0)


def told_spans(needs: Requirements, size: int) -> dict[str, range | None]:
    """The ranks that each host's command starts; None: a follower that is not told its first one."""
    commands = {one.host: options(one.argv) for one in needs.hosts if one.argv}
    if len(commands) < 2 or not any(name in told for told in commands.values() for name in FIRST):
        return {}
    return {host: span(told, size) for host, told in commands.items()}


def span(told: Mapping[str, str | None], size: int) -> range | None:
    local = 1 if FIRST[1] in told else whole(told.get("--data-parallel-size-local")) or size
    first = next((whole(told[name]) for name in FIRST if name in told), None if "--headless" in told else 0)
    return None if first is None else range(first, first + local)


def whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def uncovered(spans: Mapping[str, range | None], size: int) -> Iterator[str]:
    """Ranks that no command or several start, and hosts that would take a first rank by default."""
    yield from (f"{host} is not told its first rank" for host, ranks in spans.items() if ranks is None)
    started = Counter(rank for ranks in spans.values() for rank in ranks or ())
    lacking = [rank for rank in range(size if spans else 0) if not started[rank]]
    twice = [rank for rank, times in started.items() if times > 1]
    beyond = [rank for rank in started if rank >= size]
    for what, found in (("started by nobody", lacking), ("started twice", twice), ("beyond the last", beyond)):
        if found:
            yield f"ranks {ranges(found)} are {what}"


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
