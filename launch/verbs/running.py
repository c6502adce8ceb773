"""What runs on the hosts: look at it, stop it, start it again."""

from __future__ import annotations

import sys

from inventory.errors import BringupError, ExitCode, raise_all
from inventory.fleet import Fleet
from launch import request
from launch.report import Report, print_json, printable
from launch.verbs import arguments

DEFAULT_LINES = 50


def status(*, hosts: str, name: str, inventory: str, json: bool) -> ExitCode:
    from launch.running import answers
    from launch.running.status import SURVEY_S
    from launch.running.status import status as look

    with arguments.deployment(hosts, name, inventory, latest=True, within_s=SURVEY_S) as (fleet, found):
        seen = look(fleet, found)
    if json:
        print_json("status", answers.document(seen))
    else:
        answers.show(seen, Report())
    return seen.verdict.exit_code


def logs(*, hosts: str, name: str, lines: str, inventory: str) -> ExitCode:
    from launch import operate

    number = request.count("lines", lines, DEFAULT_LINES, 100_000)
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        told = operate.logs(fleet, found.gang, number)
    for host, text in told.items():
        if not isinstance(text, BringupError):
            sys.stdout.writelines(f"{host}: {printable(line)}\n" for line in text.splitlines())
    raise_all([text for text in told.values() if isinstance(text, BringupError)])
    return ExitCode.DONE


def stop(*, hosts: str, name: str, inventory: str) -> ExitCode:
    from launch import operate
    from playbooks.control import locked, this_run

    report = Report()
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        reachable = [host for host in (*found.gang.hosts, *found.strays) if host not in found.unanswered]
        with locked(fleet, reachable, this_run(f"stop {found.gang.name}"), fleet.state_dirs):
            operate.stop(fleet, found.gang, report, strays=tuple(found.strays))
    report.say(f"{found.gang.name} is stopped", style="green")
    return ExitCode.DONE


def restart(*, hosts: str, name: str, inventory: str, timeout: str) -> ExitCode:
    from launch import operate
    from playbooks.control import locked, this_run

    report = Report()
    timeout_s = request.seconds("timeout", timeout, request.DEFAULT_READY_TIMEOUT_S)
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        gang = found.gang
        with locked(fleet, (*gang.hosts, *found.strays), this_run(f"restart {gang.name}"), fleet.state_dirs):
            operate.restart(fleet, found, report, timeout_s=timeout_s)
    report.timings()
    report.say(f"{gang.name} is serving", style="green")
    return ExitCode.DONE


def unlock(*, hosts: str, inventory: str) -> ExitCode:
    from playbooks.control import unlock as break_locks

    report = Report()
    with Fleet(arguments.chosen_hosts(hosts, inventory)) as fleet:
        broken = break_locks(fleet, fleet.state_dirs)
    for host, holder in broken.items():
        if not isinstance(holder, BringupError):
            report.say(f"{host}: " + (f"unlocked; it was {holder}" if holder else "was not locked"))
    raise_all([holder for holder in broken.values() if isinstance(holder, BringupError)])
    return ExitCode.DONE
