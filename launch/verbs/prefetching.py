"""Weights on every host before a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ExitCode, raise_all
from inventory.fleet import Fleet
from inventory.quoting import quote
from launch import request
from launch.console.report import Report, print_json, print_table
from launch.prefetch.show import gb, show
from launch.prefetch.source import Fetch, read_fetch, read_rate, read_source
from launch.verbs import arguments

if TYPE_CHECKING:
    from inventory.schema import Host
    from launch.prefetch.prefetch import Options, Prepared


def prefetch(  # noqa: PLR0913  (its flags)
    *,
    model: str,
    hosts: str,
    inventory: str,
    recipes: str,
    fetch: str,
    from_: str,
    limit_rate: str,
    status: bool,
    cancel: bool,
    dry_run: bool,
    json: bool,
    **flags: str,
) -> ExitCode:
    if status and cancel:
        raise request.refused("cancel", "", "either --status or --cancel")
    chosen = arguments.chosen_hosts(hosts or ("all" if status or cancel else ""), inventory)
    if status:
        return _status(chosen, json=json)
    if cancel:
        return _cancel(chosen)
    asked = arguments.launch_request(model, **flags)
    options = _options(fetch, from_, limit_rate)
    found = arguments.recipe(recipes, asked.model)
    report = Report(quiet=json)
    with Fleet(chosen) as fleet:

        def prepared() -> Prepared:
            from launch.hosts.gather import gather_all
            from launch.prefetch.prefetch import prepare

            facts, errors = gather_all(fleet)
            raise_all(list(errors.values()))
            return prepare(found, asked, fleet, facts, options, report)

        with report.phase("Look"):
            first = prepared()
        show(first, report)
        if json:
            print_json("prefetch", _data(first), hide=arguments.passwords(chosen), line=not dry_run)
        if dry_run:
            return ExitCode.CHANGES_PENDING if first.pending else ExitCode.DONE
        if first.pending:
            _carry_out(first, fleet, report, prepared, json=json)
        report.say(_next(first, asked.model, ",".join(fleet.hosts), asked.revision))
    return ExitCode.DONE


def _options(fetch: str, from_: str, limit_rate: str) -> Options:
    from launch.prefetch.prefetch import Options

    how = read_fetch(fetch)
    return Options(how or Fetch.HUB_ONCE, read_source(from_, how), read_rate(limit_rate))


def _carry_out(first: Prepared, fleet: Fleet, report: Report, again: Callable[[], Prepared], *, json: bool) -> None:
    from launch.prefetch.prefetch import carry_out
    from launch.prefetch.progress import Progress
    from playbooks.control import locked, this_run

    owner = this_run(f"prefetch {', '.join(one.manifest.repo for one in first.plans)}")
    hosts = tuple(fleet.hosts)
    try:
        with locked(fleet, hosts, owner, fleet.state_dirs), report.phase("Prefetch"):
            carry_out(first, fleet, report, Progress(report, json_lines=json), owner, again)
    except KeyboardInterrupt:
        report.say(f"hosts go on fetching; to end that: invoke prefetch --cancel --hosts {','.join(hosts)}")
        raise
    report.say(f"verified on {', '.join(hosts)}", style="green")
    report.timings()


def _next(found: Prepared, model: str, hosts: str, revision: str | None) -> str:
    """The launch that these weights are for, with what only this prefetch knows."""
    words = ["invoke deploy", f"--model {quote(model)}", f"--hosts {quote(hosts)}"]
    words += [f"--revision {one}" for one in [revision or "", *found.pinned_here[:1]][-1:] if one]
    strategy = next((one.load_strategy for one in found.plans if one.load_strategy), None)
    words += [f"--set safetensors-load-strategy={strategy}"] if strategy else []
    return f"next: {' '.join(words)}"


def _data(found: Prepared) -> dict[str, object]:
    return {"pending": found.pending, "made_on_hosts": found.wanted.made, "checkpoints": found.plans}


def _status(chosen: Sequence[Host], *, json: bool) -> ExitCode:
    from launch.prefetch.status import status_of

    with Fleet(chosen) as fleet:
        found, errors = status_of(fleet)
    if json:
        print_json("prefetch-status", found)
    elif found:
        rows = [(one.host, one.weights, one.state, *_amount(one.there, one.total)) for one in found]
        print_table(("host", "weights", "state", "there", "of"), rows)
    else:
        Report().say("no weights on the hosts that answer")
    raise_all(errors)
    return ExitCode.DONE


def _amount(there: int | None, total: int | None) -> tuple[str, str]:
    return ("?" if there is None else gb(there), "?" if total is None else gb(total))


def _cancel(chosen: Sequence[Host]) -> ExitCode:
    from launch.prefetch.status import cancel

    report = Report()
    with Fleet(chosen) as fleet:
        outcomes = cancel(fleet)
    for host, one in outcomes.items():
        if not isinstance(one, BringupError):
            report.say(f"{host}: {'ended: ' + ', '.join(one) if one else 'nothing was being fetched'}")
    raise_all([one for one in outcomes.values() if isinstance(one, BringupError)])
    return ExitCode.DONE
