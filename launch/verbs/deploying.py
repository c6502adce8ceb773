"""A launch on these hosts."""

from __future__ import annotations

from inventory.errors import ExitCode
from inventory.fleet import Fleet
from launch.report import Report, print_json
from launch.verbs import arguments


def deploy(
    *, model: str, hosts: str, inventory: str, recipes: str, dry_run: bool, json: bool, **flags: str
) -> ExitCode:
    from launch import deploy as run

    wanted = arguments.launch_request(model, **flags)
    chosen = arguments.chosen_hosts(hosts, inventory)
    found = arguments.recipe(recipes, wanted.model)
    report = Report(quiet=json)
    with Fleet(chosen) as fleet:
        prepared = run.prepare(found, wanted, fleet, report)
        report.plan(prepared.plan)
        if json:
            print_json("plan", prepared.plan, hide=arguments.hidden(chosen, wanted))
        if dry_run:
            return ExitCode.DONE if prepared.plan.empty else ExitCode.CHANGES_PENDING
        run.carry_out(prepared, fleet, report, lambda: run.prepare(found, wanted, fleet, report))
    return ExitCode.DONE
