"""The same checkpoint on every host: same list of files, same sizes, same digests of small files."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts, WeightFolder
from playbooks.checks.base import ON_HOST, Priority, odd_ones, skip
from playbooks.checks.stored import folder_of, missing_fact, will_fetch
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "sto.same_everywhere"
PRIORITY = Priority.P0
WHY = "ranks that hold different weights answer nonsense together, and nothing says so"

_REQUIRED = "the same files with the same sizes and digests on every host"
_Content = frozenset[tuple[str, int, str]]


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if len(needs.hosts) < 2:
        return (skip(ID, "", "one host: nothing to compare"),)
    told = {one.host: folder(facts[one.host], one) for one in needs.hosts if one.host in facts}
    look = f"{ON_HOST}ls -lL " + next(
        (one.weights.path for one in needs.hosts if one.weights and one.weights.path), "."
    )
    unknown = [missing_fact(ID, h, one, _REQUIRED, look) for h, one in told.items() if isinstance(one, Unknown)]
    known = {host: content(one) for host, one in told.items() if isinstance(one, WeightFolder)}
    if len(known) < 2:
        return (*unknown, skip(ID, "", f"the weights are on {len(known)} of {len(needs.hosts)} hosts so far"))
    return (*unknown, compare(known))


def folder(facts: HostFacts, needs: HostRequirements) -> WeightFolder | Unknown | None:
    found = folder_of(facts, needs.weights) if needs.weights else None
    return None if isinstance(found, WeightFolder) and will_fetch(needs, found) else found


def content(one: WeightFolder) -> _Content:
    """Sizes as they are on disk; digests as the host's own list has them."""
    digests = {file.path: file.sha256 or "" for file in one.manifest or ()}
    return frozenset((file.path, file.size, digests.get(file.path, "")) for file in one.files)


def compare(known: Mapping[str, _Content]) -> Finding:
    odd = odd_ones(known)
    if not odd:
        files = next(iter(known.values()))
        return Finding(ID, Status.PASS, "", f"the same {len(files)} files on {', '.join(known)}")
    good = next(host for host in known if host not in odd)
    parts = [f"{host} differs from {good} in {differing(known[host], known[good])}" for host in odd]
    remedy = f"on {', '.join(odd)}: remove what differs; the same deploy again fetches it, or copy it from {good}"
    return Finding(ID, Status.FAIL, "", "; ".join(parts), _REQUIRED, remedy)


def differing(ours: _Content, theirs: _Content) -> str:
    paths = sorted({path for path, _, _ in ours ^ theirs})
    return f"{', '.join(paths[:3])}" + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
