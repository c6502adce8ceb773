"""The group goes back to a generation that is stored: stopped, switched, started, watched and proven as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.errors import BringupError
from launch.running import operate, rollback
from launch.running.change import Change, recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inventory.fleet import Fleet
    from launch.building.generation import Generation
    from launch.console.report import Report
    from launch.watching.watch import Ready
    from playbooks.lock import Owner


def return_to(
    fleet: Fleet,
    now: Generation,
    wanted: Generation,
    owner: Owner,
    report: Report,
    *,
    timeout_s: float,
    strays: Sequence[str] = (),
) -> Ready:
    """Stop what runs of `now`, start `wanted` from what is stored of it, and prove it. The hosts are locked by now.

    Raises before anything is stopped when a host lacks a part of `wanted`; on a failed start the group is stopped.
    """
    rollback.refuse_incomplete(fleet, wanted)
    change = Change("rollback", wanted.generation, note=f"from {now.generation}")
    with recorded(fleet, wanted.name, wanted.hosts, owner, change, report):
        with report.phase("Stop"):
            others = [host for host in wanted.hosts if host not in now.hosts]
            operate.stop(fleet, now, report, strays=(*strays, *others))
        with report.phase("Switch"):
            rollback.switch(fleet, wanted)
            report.say(f"{wanted.generation} is the current generation on {', '.join(wanted.hosts)}")
        change.ready = operate.start_and_prove(fleet, wanted, report, timeout_s=timeout_s)
    return change.ready


def offer_or_restore(
    fleet: Fleet, failed: Generation, owner: Owner, report: Report, *, restore: bool, timeout_s: float
) -> None:
    """After a start that failed: name the generation that served before, or go back to it. Never hides the failure."""
    asked = rollback.ask(fleet, failed.name, failed.hosts)
    stored = {host: told for host, told in asked.items() if not isinstance(told, BringupError)}
    found = rollback.offer(stored, besides=failed.generation)
    if found is None:
        return
    command = f"invoke rollback {found.flags} --to {found.generation}"
    if not restore or not set(found.hosts) <= fleet.hosts.keys():
        report.say(f"generation {found.generation} served before: {command}", style="yellow")
        return
    report.say(f"back to generation {found.generation}, which served before", style="yellow")
    try:
        return_to(fleet, failed, found, owner, report, timeout_s=timeout_s)
    except BringupError as error:
        report.error(error)
        report.say(f"the earlier generation does not serve either; next: invoke status {found.flags}", style="red")
    else:
        report.say(f"{found.name} serves again, as generation {found.generation}", style="green")
