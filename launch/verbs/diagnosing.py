"""`diagnose`: what failed first, and where."""

from __future__ import annotations

from pathlib import Path

from inventory.errors import BadInput, ExitCode
from launch.console.report import Report, print_json, print_lines, printable
from launch.verbs import arguments


def diagnose(*, hosts: str, name: str, inventory: str, replay: str, capture: str, json: bool) -> ExitCode:
    from inventory.facts.saved import refuse_taken
    from launch.diagnosis import run, show

    if replay and capture:
        raise BadInput(
            "--replay and --capture exclude each other",
            id="flag-value",
            observed=f"--replay {replay} --capture {capture}",
            required="a capture that is there, or the folder of a new one",
            next_command=f"invoke diagnose --replay {replay}",
        )
    if capture:
        refuse_taken(Path(capture).expanduser())
    if replay:
        seen, judged = run.from_folder(Path(replay).expanduser())
    else:
        with arguments.deployment(hosts, name, inventory) as (fleet, found):
            seen, judged = run.from_hosts(
                fleet,
                found.gang,
                unanswered=found.unanswered,
                keep=Path(capture).expanduser() if capture else None,
                hide=arguments.passwords(tuple(fleet.hosts.values())),
            )
        if capture:
            Report().say(
                f"everything is kept in {capture}; again without the hosts: invoke diagnose --replay {capture}"
            )
    if json:
        print_json("diagnosis", show.as_data(judged, seen))
    else:
        print_lines(printable(line) for line in show.lines(judged, seen))
    return judged.exit_code(seen.unanswered)
