"""What runs on the hosts: is it serving, stop it, start it again, go back."""

from __future__ import annotations

from inventory.errors import BringupError, ExitCode, raise_all
from inventory.fleet import Fleet
from launch import request
from launch.console.report import Report, print_json
from launch.verbs import arguments


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


def stop(*, hosts: str, name: str, inventory: str) -> ExitCode:
    from launch.running import operate
    from launch.running.change import Change, recorded
    from playbooks.control import locked, this_run

    report = Report()
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        gang, strays = found.gang, tuple(found.strays)
        reachable = [host for host in (*gang.hosts, *strays) if host not in found.unanswered]
        owner = this_run(f"stop {gang.name}")

        def goes_on(error: BringupError) -> None:
            report.say(f"{error.host}: {error.message} ({error.observed}): stopped without a lock", style="yellow")

        change = Change("stop", gang.generation)
        with (
            locked(fleet, reachable, owner, fleet.state_dirs, unlockable=goes_on),
            recorded(fleet, gang.name, reachable, owner, change, report),
        ):
            operate.stop(fleet, gang, report, strays=strays)
    report.say(f"{gang.name} is stopped", style="green")
    return ExitCode.DONE


def restart(*, hosts: str, name: str, inventory: str, timeout: str) -> ExitCode:
    from launch.running import operate
    from launch.running.change import Change, recorded
    from playbooks.control import locked, this_run

    report = Report()
    timeout_s = request.seconds("timeout", timeout, request.DEFAULT_READY_TIMEOUT_S)
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        gang, owner = found.gang, this_run(f"restart {found.gang.name}")
        operate.refuse_mixed(found)
        change = Change("restart", gang.generation)
        with (
            locked(fleet, (*gang.hosts, *found.strays), owner, fleet.state_dirs),
            recorded(fleet, gang.name, gang.hosts, owner, change, report),
        ):
            change.ready = operate.restart(fleet, found, report, timeout_s=timeout_s)
    report.timings()
    report.say(f"{gang.name} is serving", style="green")
    return ExitCode.DONE


def rollback(*, hosts: str, name: str, inventory: str, to: str, timeout: str) -> ExitCode:
    """Back to a stored generation, by default to the one that served before."""
    from launch.running import rollback as storing
    from launch.running.return_to import return_to
    from playbooks.control import locked, this_run

    report = Report()
    timeout_s = request.seconds("timeout", timeout, request.DEFAULT_READY_TIMEOUT_S)
    listed = arguments.inventory_of(inventory)
    with arguments.deployment(hosts, name, inventory) as (fleet, found):
        gang = found.gang
        raise_all(list(found.unanswered.values()))
        told = storing.ask(fleet, gang.name, gang.hosts)
        raise_all([one for one in told.values() if isinstance(one, BringupError)])
        stored = {host: one for host, one in told.items() if not isinstance(one, BringupError)}
        wanted = storing.target(gang, stored, request.generation(to))
        fleet.add([listed.resolve(host)[0] for host in wanted.hosts if host not in fleet.hosts])
        owner = this_run(f"rollback {gang.name} to {wanted.generation}")
        everywhere = tuple(dict.fromkeys((*gang.hosts, *wanted.hosts, *found.strays)))
        with locked(fleet, everywhere, owner, fleet.state_dirs):
            return_to(fleet, gang, wanted, owner, report, timeout_s=timeout_s, strays=tuple(found.strays))
    report.timings()
    report.say(f"{wanted.name} is serving, as generation {wanted.generation}", style="green")
    report.say(f"next: invoke status {wanted.flags}")
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
