"""A prefetch's plan as lines for the operator: bytes, who fetches them, room, time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.prefetch.progress import duration

if TYPE_CHECKING:
    from launch.console.report import Report
    from launch.prefetch.plan import CheckpointPlan, HostPlan
    from launch.prefetch.prefetch import Prepared


def show(found: Prepared, report: Report) -> None:
    if found.wanted.made:
        report.say("its weights are made on the hosts by the deploy: there is nothing to fetch")
    for plan in found.plans:
        head = f"{plan.manifest.repo} at {plan.manifest.commit}: {len(plan.manifest.files)} files, "
        report.say(f"{head}{gb(plan.manifest.bytes)}, from {plan.manifest.source or 'the hosts'}")
        report.say(f"  {_how(plan)}")
        for one in plan.hosts:
            report.say(f"  {one.host}: {_line(one)}")
        for note in plan.notes:
            report.say(f"  {note}", style="yellow")


def _how(plan: CheckpointPlan) -> str:
    if not plan.pending:
        return "verified on all hosts: nothing to do"
    fetching = [one.host for one in plan.hosts if one.share]
    if not fetching:
        return "nothing comes from outside: hosts that have files give them to the others"
    words = f"{plan.fetch}: {gb(plan.from_outside)} from {plan.source} by {', '.join(fetching)}"
    if plan.seconds is not None and plan.rate:
        words += f", about {duration(plan.seconds)} at {plan.rate / 1e6:.0f} MB/s for each, as measured the last time"
    return words


def _line(one: HostPlan) -> str:
    space = "" if one.free is None or one.after is None else f", {gb(one.free)} free now and {gb(one.after)} after"
    partly = f", {gb(one.partly)} of unfinished files" if one.partly else ""
    share = f", fetches {len(one.share)} files" if one.share else ""
    return f"{gb(one.there)} there{partly}, {gb(one.to_come)} to come{share}{space}"


def gb(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
