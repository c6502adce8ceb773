"""After a run that changed hosts: what nobody needs any more is removed there, and said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from launch.caches.collect import caches_removed
from launch.caches.holdings import SPARE
from launch.console.sizes import size
from playbooks.prune import Pruned, prune_script, read_pruned

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.console.report import Report

DEADLINE_S = 300.0
"""An environment is some 60,000 files."""


def prune(fleet: Fleet, hosts: Iterable[str], report: Report, *, needed: Iterable[str] = ()) -> None:
    """Prune on hosts whose lock is held. A host that does not answer is told, and is no failure of the run.

    `needed`: digests of environments that this run is about.
    """
    digests = tuple(needed)

    def one(transport: Transport) -> tuple[Pruned, ...]:
        script = prune_script(state_dir=fleet.state_dirs[transport.host], needed=digests)
        return read_pruned(transport.run(script, timeout=DEADLINE_S).text)

    names = tuple(hosts)
    for host, outcome in fleet.each(one, names).items():
        if isinstance(outcome, BringupError):
            report.say(f"{host}: old jobs, generations and environments were not pruned: {outcome.message}")
        elif outcome:
            report.say(f"{host}: pruned {told(outcome)}")
    _prune_caches(fleet, names, report)


def _prune_caches(fleet: Fleet, hosts: tuple[str, ...], report: Report) -> None:
    """Behind the rest: a generation that has gone needs no caches any more."""
    for host, outcome in caches_removed(fleet, hosts, spare=SPARE).items():
        if isinstance(outcome, BringupError):
            report.say(f"{host}: old caches were not pruned: {outcome.message}: {outcome.observed} [{outcome.id}]")
        elif outcome:
            named = ", ".join(f"{one.stamp} ({size(one.bytes)})" for one in outcome)
            report.say(f"{host}: pruned caches of builds that nothing needs: {named}")


def told(pruned: Iterable[Pruned]) -> str:
    """`12 jobs, generation d/1a2b, environment 3c4d`: jobs counted, the rest by name."""
    every = tuple(pruned)
    jobs = Counter(one.kind for one in every)["job"]
    rest = [f"{one.kind} {one.name}" for one in every if one.kind != "job"]
    return ", ".join([f"{jobs} job{'s' if jobs > 1 else ''}"] * bool(jobs) + rest)
