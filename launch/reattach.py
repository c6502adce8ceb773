"""Jobs that an earlier run left going on: a run that finds some follows them to their ends before it does its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playbooks.apply import finish_running_jobs

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.console.report import Report

CLOCK_SLACK_S = 2.0
"""The host tells whole seconds."""


def jobs_finished(fleet: Fleet, report: Report) -> bool:
    """Wait for such jobs, showing how they go on; tell whether there were any, also such as ended since this run began.

    The plan was then made of what was there before they ended.
    """
    within_s = report.elapsed_s + CLOCK_SLACK_S

    def one(transport: Transport) -> int:
        def told(line: str) -> None:
            report.say(f"{transport.host}: {line}", style="yellow")

        return finish_running_jobs(transport, state_dir=fleet.state_dirs[transport.host], told=told, within_s=within_s)

    return any(fleet.all(one).values())
