"""Every file of the weights, whole: by its size, and by what its own header says."""

from __future__ import annotations

from collections.abc import Iterator

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts, StoredFile, WeightFolder
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, gb, skip
from playbooks.checks.stored import expected_files, folder_of, missing_fact, will_fetch
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.complete"
PRIORITY = Priority.P0
WHY = "a rank that meets a short file dies minutes into the start, on that host only"

_REQUIRED = "every file of the weights, with its full size"
_SHOWN = 3


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    weights = needs.weights
    folder = folder_of(facts, weights) if weights else None
    if weights is None:
        return skip(ID, facts.host, "the plan names no weights")
    path = weights.path or "the folder of the weights"
    if isinstance(folder, Unknown):
        return missing_fact(ID, facts.host, folder, _REQUIRED, f"{ON_HOST}ls -lL {path}")
    if will_fetch(needs, folder):
        return skip(ID, facts.host, "the plan has yet to fetch the weights, and verifies them then")
    if folder is None:
        return Finding(ID, Status.FAIL, facts.host, f"{path} is not there", _REQUIRED, remedy(weights.path or ""))
    return of_folder(facts.host, folder, expected_files(weights, folder))


def of_folder(host: str, folder: WeightFolder, expected: tuple[StoredFile, ...] | None) -> Finding:
    if expected is None:
        return skip(ID, host, "nobody knows yet which files belong to the weights")
    wrong = tuple(faults(folder, {one.path: one.size for one in expected}))
    if not wrong:
        total = sum(one.size for one in expected)
        unread = "" if folder.damaged is not None else "; headers were not read, there is no Python"
        return Finding(ID, Status.PASS, host, f"{len(expected)} files, {gb(total)}{unread}")
    more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return Finding(ID, Status.FAIL, host, f"{'; '.join(wrong[:_SHOWN])}{more}", _REQUIRED, remedy(folder.path))


def faults(folder: WeightFolder, expected: dict[str, int]) -> Iterator[str]:
    """In the order of gravity, each file once."""
    there = {one.path: one.size for one in folder.files}
    for path, size in expected.items():
        if path not in there:
            yield f"{path} is missing"
        elif there[path] != size:
            yield f"{path} has {there[path]} of {size} bytes"
        elif not size and not folder.simulated:
            yield f"{path} is empty"
    for line in () if folder.simulated else folder.damaged or ():
        path = line.partition(": ")[0]
        if there.get(path) == expected.get(path, there.get(path)):
            yield line
    if folder.partial:
        yield f"{folder.partial[0]} is left of a download, {len(folder.partial)} in all"


def remedy(path: str) -> str:
    """The next deploy fetches what is missing, once the list that says that all is there is gone."""
    manifest = quote(f"{path}/.bringup-manifest.json") if path else "the folder's .bringup-manifest.json"
    return f"{ON_HOST}rm {manifest}  # and the files named; the same deploy again fetches those alone"
