"""The weights of a deploy: the same prefetch, as a phase of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from launch.prefetch.prefetch import Options, Prepared, carry_out, prepared_of
from launch.prefetch.progress import Progress
from launch.prefetch.show import show
from launch.prefetch.wanted import wanted_by
from playbooks.plan import Phase, Plan
from playbooks.steps.weights import is_prefetched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from launch.choosing.choice import Choice
    from launch.console.report import Report
    from launch.request import Request
    from playbooks.lock import Owner

BEFORE = tuple(Phase)[: list(Phase).index(Phase.PREFETCH)]


def weights_ahead(
    choice: Choice, request: Request, plan: Plan, fleet: Fleet, facts: Mapping[str, HostFacts], report: Report
) -> Prepared | None:
    """How weights will come that `plan` finds missing; None: they are there. Nobody outside is asked then."""
    if not any(is_prefetched(change) for change in plan.changes):
        return None
    ahead = prepared_of(wanted_by(choice, request), fleet, facts, Options(), report)
    show(ahead, report)
    return ahead


def without_weights(plan: Plan) -> Plan:
    """The changes that an apply makes itself."""
    return replace(plan, changes=tuple(change for change in plan.changes if not is_prefetched(change)))


def bring(ahead: Prepared | None, fleet: Fleet, report: Report, owner: Owner) -> None:
    """Do it; the locks are held."""
    if ahead is None or not ahead.pending:
        return

    def again() -> Prepared:
        return prepared_of(ahead.wanted, fleet, ahead.facts, ahead.options, report)

    with report.phase("Prefetch"):
        carry_out(ahead, fleet, report, Progress(report, json_lines=False), owner, again)
