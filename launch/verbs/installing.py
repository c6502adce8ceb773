"""Bring hosts to what playbooks want of them, and list the jobs that do it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ExitCode, raise_all
from inventory.fleet import Fleet
from launch import request
from launch.console.report import Report, print_json, print_table
from launch.verbs import arguments
from playbooks.plan import Phase
from playbooks.schema import BY_DEFAULT, find, load_playbook

if TYPE_CHECKING:
    from inventory.schema import Host
    from inventory.transport.base import Transport
    from launch.catalogue.find import Found
    from launch.install import Prepared, Wish
    from playbooks.joblist import ListedJob

SAVED = ("model", "hosts", "playbook", "value", "limit", "from_phase", "stop_before")


def install(  # noqa: PLR0913  (its flags)
    *,
    hosts: str,
    inventory: str,
    apply: str,
    save: str,
    diff: bool,
    dry_run: bool,
    reboot: bool,
    json: bool,
    **flags: str,
) -> ExitCode:
    from launch import install as run
    from playbooks.savedplan import read_saved, refuse_other, save_plan

    asked = {**flags, "hosts": hosts}
    saved = None
    if apply:
        _refuse_flags_beside_a_plan(asked)
        asked, saved = read_saved(Path(apply))
        asked = {**flags, **asked}
    chosen = _chosen(asked["hosts"], asked["limit"], inventory)
    wish = _wish(asked, reboot=reboot)
    report = Report(quiet=json)
    with Fleet(chosen, brief=True) as fleet:

        def prepared() -> Prepared:
            found = run.prepare(wish, fleet, report)
            _show(found, fleet, report, diff=diff)
            return found

        first = prepared()
        if json:
            data = {"plan": first.plan, "left_out": first.left_out}
            print_json("install", data, hide=arguments.passwords(chosen))
        if saved is not None:
            refuse_other(saved, first.plan)
        if save:
            save_plan(Path(save), first.plan, {name: asked[name] for name in asked if asked[name]})
            report.say(f"saved; to do it: invoke install --apply {save}")
        if dry_run or save:
            return ExitCode.DONE if first.plan.empty else ExitCode.CHANGES_PENDING
        if not first.plan.empty:
            run.carry_out(first, fleet, report, prepared)
        if first.postponed:
            run.then_the_model(wish, fleet, report, prepared)
    return ExitCode.DONE


def jobs(*, hosts: str, inventory: str, running: bool, json: bool) -> ExitCode:
    """List what runs detached on hosts, and what has run there."""
    with Fleet(arguments.chosen_hosts(hosts, inventory)) as fleet:
        outcomes = fleet.each(lambda transport: _listed(transport, fleet.state_dirs[transport.host]))
    found = [job for outcome in outcomes.values() if not isinstance(outcome, BringupError) for job in outcome]
    shown = [job for job in found if not running or job.state == "running"]
    if json:
        print_json("jobs", shown)
    elif shown:
        print_table(("host", "job", "state", "since", "took", "by", "for", "changes"), [_row(job) for job in shown])
    elif any(not isinstance(outcome, BringupError) for outcome in outcomes.values()):
        Report().say("no jobs on the hosts that answered")
    raise_all([outcome for outcome in outcomes.values() if isinstance(outcome, BringupError)])
    return ExitCode.DONE


def _listed(transport: Transport, state_dir: str) -> tuple[ListedJob, ...]:
    from playbooks.joblist import read_jobs
    from playbooks.jobs import listed_jobs_script

    answer = transport.run(listed_jobs_script(state_dir=state_dir), timeout=20)
    return read_jobs(transport.host, answer.text)


def _row(job: ListedJob) -> tuple[str, ...]:
    since = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(job.began))
    state = job.state if not job.exit_status else f"{job.state}, exit status {job.exit_status}"
    took = "" if job.ended is None else f"{job.ended - job.began} s"
    by = f"{job.user}@{job.control}" if job.user else ""
    return (job.host, job.id, state, since, took, by, job.why, "; ".join(job.changes))


def _refuse_flags_beside_a_plan(asked: Mapping[str, str]) -> None:
    for name in asked:
        if asked[name]:
            flag = name.replace("_", "-")
            alone = "--apply alone: the saved plan has the flags that it was made with"
            raise request.refused(flag, asked[name], alone, instead=f"without --{flag}")


def _chosen(hosts: str, limit: str, inventory: str) -> tuple[Host, ...]:
    """The hosts, or those of them that `limit` selects."""
    chosen = arguments.chosen_hosts(hosts, inventory)
    if not limit:
        return chosen
    among = {one.name for one in arguments.chosen_hosts(limit, inventory)}
    left = tuple(host for host in chosen if host.name in among)
    if among - {host.name for host in left}:
        raise request.refused("limit", limit, f"some of {', '.join(host.name for host in chosen)}")
    return left


def _wish(asked: Mapping[str, str], *, reboot: bool) -> Wish:
    from launch.install import Wish

    names = request.names(asked["playbook"]) or BY_DEFAULT
    return Wish(
        playbooks=tuple(load_playbook(find(name)) for name in names),
        values=_values(asked["value"]),
        model=_model(asked) if asked["model"] else None,
        phases=_phases(asked["from_phase"], asked["stop_before"]),
        reboot=reboot,
    )


def _model(asked: Mapping[str, str]) -> tuple[Found, request.Request]:
    flags = {name: value for name, value in asked.items() if name not in {"model", "recipes", *SAVED}}
    wanted = arguments.launch_request(asked["model"], **flags)
    return arguments.recipe(asked["recipes"], wanted.model), wanted


def _values(typed: str) -> dict[str, str]:
    """`hugepages=1024,shm_size=64g`."""
    pairs = [part.partition("=") for part in filter(None, typed.split(","))]
    for name, equals, _ in pairs:
        if not (name.strip() and equals):
            raise request.refused("value", typed, "name=value, several separated by commas")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _phases(first: str, before: str) -> tuple[Phase, ...]:
    order = list(Phase)
    for flag, value in (("from-phase", first), ("stop-before", before)):
        if value and value not in order:
            raise request.refused(flag, value, f"one of {', '.join(order)}")
    begin = order.index(Phase(first)) if first else 0
    end = order.index(Phase(before)) if before else len(order)
    if begin >= end:
        raise request.refused("stop-before", before, f"a phase behind {first}")
    return tuple(order[begin:end])


def _show(found: Prepared, fleet: Fleet, report: Report, *, diff: bool) -> None:
    report.plan(found.plan)
    for host, entries in found.left_out.items():
        for one in entries:
            report.say(f"{host}: {one.step} is left out: {one.reason}", style="yellow")
    if diff:
        _show_diffs(found, fleet, report)


def _show_diffs(found: Prepared, fleet: Fleet, report: Report) -> None:
    from playbooks.contents import contents_script, diff, read_contents

    by_host = {host: [c for c in found.plan.changes if c.host == host and c.content] for host in found.plan.hosts}
    asked = {host: changes for host, changes in by_host.items() if changes}
    if not asked:
        return

    def one(transport: Transport) -> dict[int, bytes]:
        return read_contents(transport.run(contents_script(asked[transport.host]), timeout=60).text)

    there = fleet.all(one, tuple(asked))
    shown: dict[tuple[str, ...], list[str]] = {}
    for host, changes in asked.items():
        for index, change in enumerate(changes):
            if change.content:
                shown.setdefault(tuple(diff(change.content, there[host].get(index))), []).append(host)
    for lines, hosts in shown.items():
        report.say("\n".join((f"on {', '.join(hosts)}:", *_printable(lines))))


def _printable(lines: Sequence[str]) -> list[str]:
    from launch.console.report import printable

    return [printable(line) for line in lines]
