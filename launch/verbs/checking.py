"""Whether a launch would work on these hosts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput, ExitCode
from inventory.secret import HIDDEN
from launch import request
from launch.console.report import Report, print_json
from launch.verbs import arguments

if TYPE_CHECKING:
    from launch.hosts.gather import Answered
    from playbooks.finding import Finding
    from playbooks.requirements import Requirements


def check(  # noqa: PLR0913  (its flags)
    *,
    hosts: str,
    inventory: str,
    recipes: str,
    replay: str,
    plan: str,
    only: str,
    skip: str,
    active: bool,
    json: bool,
    **flags: str,
) -> ExitCode:
    from launch import deploy as run
    from launch.console.causes import described
    from playbooks.check import blocking, decided, leave_out

    if active and replay:
        raise request.refused("active", "", "hosts: a bundle answers no packets")
    flags, hosts = _of_plan(Path(plan), flags, hosts) if plan else (flags, hosts)
    wanted = arguments.launch_request(**flags)
    left_out = leave_out(request.names(only), request.names(skip), flags["because"])
    found = arguments.recipe(recipes, wanted.model)
    report = Report(quiet=json)
    answered = arguments.all_answered(report, hosts, inventory, replay)
    with report.phase("Place and check"):
        needs, findings = run.checked(found, wanted, tuple(answered.hosts.values()), answered.facts(), left_out)
    if active:
        with report.phase("Try"):
            findings = (*findings, *decided(_tried(answered, needs, report), wanted.accept_unknown, wanted.overrides))
    report.findings(findings)
    if json:
        print_json("findings", [described(one) for one in findings])
    return ExitCode.CHECK_FAILED if blocking(findings) else ExitCode.DONE


def _tried(answered: Answered, needs: Requirements, report: Report) -> tuple[Finding, ...]:
    from inventory.fleet import Fleet
    from playbooks.trials import run_trials

    with Fleet(tuple(answered.hosts.values())) as fleet:
        return run_trials(fleet, needs, told=report.say)


def _of_plan(path: Path, flags: Mapping[str, str], hosts: str) -> tuple[dict[str, str], str]:
    """The flags that the plan was made with, and its hosts. Raises `BadInput` where the command says otherwise.

    A plan keeps no API key, only that there was one: the check does without.
    """
    from launch.plans.compare import read

    asked = {name: value for name, value in read(path).inputs.asked if value != HIDDEN}
    known = {}
    for name, value in {**flags, "hosts": hosts}.items():
        flag = name.replace("_", "-")
        known[name] = value or asked.get(flag, "")
        if value and asked.get(flag, value) != value:
            raise BadInput(
                f"--{flag} is not what the plan was made with",
                id="plan-contradicted",
                observed=f'--{flag} "{value}", the plan {path} has "{asked[flag]}"',
                required="a plan alone, or flags alone",
                next_command=f"the same command without --{flag}",
            )
    return known, known.pop("hosts")
