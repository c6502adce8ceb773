"""Weights held in GPU memory by a deployment of their own, so that restarts need not read them."""

from __future__ import annotations

from inventory.errors import ExitCode
from inventory.fleet import Fleet
from launch.console.report import Report, print_json
from launch.verbs import arguments


def preload(
    *, model: str, hosts: str, inventory: str, recipes: str, dry_run: bool, json: bool, **flags: str
) -> ExitCode:
    from launch import deploy as run
    from launch.preload.shape import holding_weights

    wanted = arguments.launch_request(model, **flags)
    chosen = arguments.chosen_hosts(hosts, inventory)
    found = arguments.recipe(recipes, wanted.model)
    report = Report(quiet=json)
    with Fleet(chosen) as fleet:
        prepared = run.prepare(found, wanted, fleet, report, holding_weights)
        report.plan(prepared.plan)
        if json:
            print_json("plan", prepared.plan, hide=arguments.hidden(chosen, wanted))
        if dry_run:
            return ExitCode.DONE if prepared.plan.empty else ExitCode.CHANGES_PENDING
        run.carry_out(prepared, fleet, report, lambda: run.prepare(found, wanted, fleet, report, holding_weights))
    engine = f"invoke deploy --model {model} --hosts {hosts} --weights-from daemon"
    report.say(f"next: {engine}; the weights go with: invoke stop {prepared.assembly.gang.flags}")
    return ExitCode.DONE
