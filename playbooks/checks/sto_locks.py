"""Leftovers that make ranks wait: partial downloads, and lock files that count by being there."""

from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import FileLock, HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.locks"
PRIORITY = Priority.P2
WHY = "whoever finds such a lock waits for its owner, and the owner is gone"

_REQUIRED = "no lock and no partial file without a process that holds it"
_OLD_S = 600


def check(facts: HostFacts, _needs: HostRequirements) -> Finding:
    if not is_known(facts.locks):
        return missing_fact(ID, facts.host, facts.locks, _REQUIRED, f"{ON_HOST}cat /proc/locks")
    stale = [one for one in facts.locks if one.holder is None and counts(one)]
    if not stale:
        return Finding(ID, Status.PASS, facts.host, f"{len(facts.locks)} locks and partial files, none left behind")
    told = [f"{one.path} ({one.age_s // 60} min old)" for one in stale[:3]]
    observed = f"{', '.join(told)}: {len(stale)} without a holder"
    remedy = f"{ON_HOST}rm {quote(stale[0].path)}  # when no download and no compiler runs"
    return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, remedy)


def counts(one: FileLock) -> bool:
    """Most lock files stay on purpose and count only while a process holds them.

    Those of torch's extensions and of aiter count by being there; a partial file without a holder is a download that
    ended.
    """
    name = one.path.rpartition("/")[2]
    by_being_there = name == "lock" or ("aiter" in one.path and name.endswith(".lock"))
    return one.path.endswith(".incomplete") or (by_being_there and one.age_s > _OLD_S)
