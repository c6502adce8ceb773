"""What was tuned and compiled for each rank: for all ranks, or for none.

A rank that finds its file skips a step at which the others wait for it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, of_each, skip
from playbooks.checks.stored import missing_fact, planned_caches
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements

ID = "sto.cache_symmetric"
PRIORITY = Priority.P0
WHY = "a rank that finds its tuned kernels skips the step at which all others wait for it: the second start hangs"

_REQUIRED = "files of every rank on its host, or of none"
_TUNED = re.compile(r"^(?=.*autotune)(.*?)([^/]*/)?[^/]*dp(\d+)_rank(\d+)[^/]*$")

Rank = tuple[int, int]  # global data-parallel rank, rank within it
Held = tuple[str, Rank]  # a host and a rank whose file it has


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    owners = owners_of(needs)
    on_gpus = any(one.gpus or not one.argv for one in needs.hosts)
    if len(owners) < 2 or not on_gpus:
        return (skip(ID, "", "one rank, no GPU, or the plan does not tell the ranks"),)
    known, unknown = of_each(facts, needs, lambda host: host.caches)
    if unknown:
        look = f"{ON_HOST}find /var/lib/bringup/caches -name '*_rank*'"
        return tuple(missing_fact(ID, host, fact, _REQUIRED, look) for host, fact in unknown.items())
    known = {host: planned_caches(one, needs.of(host)) for host, one in known.items()}
    tuned = sets_of({host: one.artefacts for host, one in known.items()})
    return (judge(tuned, owners, cold=all(one.empty for one in known.values())),)


def owners_of(needs: Requirements) -> dict[Rank, str]:
    """The host of every rank; a rank over several hosts is cut evenly, in the order of the hosts."""
    layout = needs.layout
    width = (layout.tensor_parallel or 0) * (layout.pipeline_parallel or 1)
    depth = layout.data_parallel or needs.data_parallel_size
    if len(needs.ranks) == depth > 1:
        return {(dp, rank): needs.ranks[dp] for dp in range(depth) for rank in range(width)}
    names = [one.host for one in needs.hosts]
    flat = [(dp, rank) for dp in range(depth) for rank in range(width)]
    return {one: names[at * len(names) // len(flat)] for at, one in enumerate(flat)}


def sets_of(artefacts: Mapping[str, Iterable[str]]) -> dict[str, set[Held]]:
    """Which host has whose file, by the folder that a set of files lies in.

    The folder is named after a digest of the configuration. Where no folder has files of two data-parallel ranks the
    digest has the rank in it, and the folder above is what the ranks share.
    """
    found: dict[tuple[str, str], set[Held]] = defaultdict(set)
    for host, paths in artefacts.items():
        for match in filter(None, map(_TUNED.match, paths)):
            found[match[1], match[2] or ""].add((host, (int(match[3]), int(match[4]))))
    apart = all(len({rank[0] for _, rank in one}) == 1 for one in found.values()) and len(found) > 1
    joined: dict[str, set[Held]] = defaultdict(set)
    for (above, folder), held in found.items():
        joined[above if apart else f"{above}{folder}"] |= held
    return joined


def judge(tuned: Mapping[str, set[Held]], owners: Mapping[Rank, str], *, cold: bool) -> Finding:
    expected = {(host, rank) for rank, host in owners.items()}
    for folder, there in sorted(tuned.items()):
        ours = there & expected
        if ours and ours != expected:
            return uneven(folder.rstrip("/"), ours, expected)
    if tuned or not cold:
        return Finding(ID, Status.PASS, "", f"{len(tuned)} sets of tuned kernels, each of all ranks")
    observed = "all caches are cold: the first start compiles and tunes, which takes long"
    return Finding(ID, Status.WARN, "", observed, "warm caches for a quick start", "nothing: the next start is quicker")


def uneven(folder: str, ours: set[Held], expected: set[Held]) -> Finding:
    parts = []
    for host in sorted({host for host, _ in expected}):
        has = sum(one == host for one, _ in ours)
        parts.append(f"{host} has those of {has} of its {sum(one == host for one, _ in expected)} ranks")
    observed = (
        f"{folder}: {', '.join(parts)} ({', '.join(f'dp{dp} rank {rank}' for _, (dp, rank) in sorted(ours)[:4])})"
    )
    remedy = f"on every host: mv that folder aside (below the cache folder of the deployment): {quote(folder)}"
    return Finding(ID, Status.FAIL, "", observed, _REQUIRED, remedy)
