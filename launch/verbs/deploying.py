"""A launch on these hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inventory.errors import ExitCode
from inventory.fleet import Fleet
from launch import request
from launch.console.report import Report, print_json
from launch.verbs import arguments


def deploy(
    *,
    hosts: str,
    inventory: str,
    recipes: str,
    dry_run: bool,
    json: bool,
    **flags: Any,  # noqa: ANN401  (text and switches)
) -> ExitCode:
    """`flags`: of the launch, and what becomes of it: alert, rollback_on_failure, supervise."""
    from launch import deploy as run
    from launch.serving import hooks

    rollback, asked, alert = (flags.pop(name) for name in ("rollback_on_failure", "supervise", "alert"))
    wanted = replace(arguments.launch_request(**flags), rollback_on_failure=rollback)
    wanted = replace(wanted, supervision=arguments.supervision(wanted, alert, asked=asked))
    listed = arguments.inventory_of(inventory)
    chosen, following = arguments.selected(listed, hosts), hooks.chosen(listed.hooks, request.names(flags.pop("hooks")))
    found = arguments.recipe(recipes, wanted.model)
    report = Report(quiet=json)
    with Fleet(chosen) as fleet:
        prepared = run.prepare(found, wanted, fleet, report)
        report.plan(prepared.plan)
        if json:
            print_json("plan", prepared.plan, hide=arguments.hidden(chosen, wanted), line=not dry_run)
        if dry_run:
            return ExitCode.DONE if prepared.plan.empty else ExitCode.CHANGES_PENDING
        told = (lambda event: print_json("event", event, line=True)) if json else None

        def again() -> run.Prepared:
            return replace(run.prepare(found, wanted, fleet, report), told=told)

        run.carry_out(replace(prepared, told=told), fleet, report, again)
        hooks.run(following, prepared.assembly.gang, report)
        if json:
            print_json("serving", prepared.assembly.gang, line=True)
    return ExitCode.DONE
