"""One deploy, phase by phase: gather, place, check, plan, show, lock, apply, watch, smoke, report.

`prepare` changes nothing and ends in an exact plan; `carry_out` does exactly that plan. `--dry-run` is the first
without the second, there is no other difference.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from inventory.errors import BringupError, CheckFailed, raise_all
from launch.building.assemble import Assembly, assemble
from launch.building.gang import STOPPED, states_ahead
from launch.building.wheelhouses import supplied
from launch.caches.gang import bring as bring_caches
from launch.caches.gang import harvest, second_chance
from launch.choosing.outline import launched
from launch.hosts.gather import gather_all
from launch.memory.show import numbers
from launch.prefetch.of_deploy import BEFORE, bring, weights_ahead, without_weights
from launch.pruning import prune
from launch.reattach import jobs_finished
from launch.running import operate
from launch.running.change import Change as Changing
from launch.running.change import recorded
from launch.running.history import SERVING, entry_of, keep_served
from launch.running.return_to import offer_or_restore
from launch.running.supervise import read_state
from launch.running.survey import survey
from playbooks.apply import apply
from playbooks.check import blocking, decided, run_checks
from playbooks.checks.active import ACTIVE
from playbooks.checks.base import Priority
from playbooks.control import locked, this_run
from playbooks.finding import Status
from playbooks.plan import FORMAT_VERSION, Change, Phase, Plan, changes_for, digest
from playbooks.probes import PROBE_DEADLINE_S, probe_script, read_states
from playbooks.trials import run_trials

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.schema import Host
    from inventory.transport.base import Transport
    from launch.building.generation import Generation
    from launch.catalogue.find import Found
    from launch.console.report import Report
    from launch.prefetch.prefetch import Prepared as Weights
    from launch.request import Request
    from launch.running.smoke import Answer
    from launch.running.survey import Survey
    from launch.watching.event import Told
    from launch.watching.watch import Ready
    from playbooks.finding import Finding
    from playbooks.lock import Owner
    from playbooks.requirements import Requirements


URGENT_TRIALS = frozenset(name for name, trial in ACTIVE.items() if trial.PRIORITY is Priority.P0)
AFTER_INSTALLATION = frozenset({"rt.docker_gpu"})
"""Trials of what the plan itself installs: tried once more when it is there. (Environments prove themselves.)"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan and what it was made of. `told` hears of every step of the start, as data."""

    request: Request
    assembly: Assembly
    plan: Plan
    told: Told | None = None
    weights: Weights | None = None  # how those come that are missing


Shape = Callable[[Assembly, Mapping[str, "HostFacts"], Mapping[str, str]], Assembly]
"""Makes another deployment of a launch: of its assembly, the facts and the state dirs of its hosts."""


def prepare(
    found: Found, request: Request, fleet: Fleet, report: Report, shape: Shape = lambda one, _, __: one
) -> Prepared:
    """Look at the hosts and plan. Raises what forbids the deploy; nothing is changed."""
    with report.phase("Gather"):
        facts = _gathered(fleet)
    with report.phase("Place"):
        assembly = shape(supplied(found, request, fleet, facts, report), facts, fleet.state_dirs)
        report.reasons(assembly.decision.placement.reasons, assembly.gang.hosts)
        _say_memory(assembly, report)
    with report.phase("Check"):
        seen = _checked(assembly.needs, request, facts)
        report.findings(seen, brief=True)
        _refuse_blocked(seen)
    with report.phase("Plan"):
        _refuse_left_behind(assembly.gang, survey(fleet))
        plan = _planned(assembly, fleet, seen)
        weights = weights_ahead(assembly.decision.choice, request, plan, fleet, facts, report)
    return Prepared(request, assembly, plan, weights=weights)


def _say_memory(assembly: Assembly, report: Report) -> None:
    """The two numbers that vLLM will log, as they are predicted."""
    if assembly.forecast is not None:
        for line in numbers(assembly.forecast.plan, assembly.decision.placement.data_parallel_size):
            report.say(f"  {line}")


def checked(
    found: Found,
    request: Request,
    hosts: Sequence[Host],
    facts: Mapping[str, HostFacts],
    left_out: Mapping[str, str] | None = None,
) -> tuple[Requirements, tuple[Finding, ...]]:
    """What the launch needs, and what the checks say of hosts as `facts` tell them: no host is touched."""
    needs = _assembled(found, request, hosts, facts).needs
    return needs, _checked(needs, request, facts, left_out)


def carry_out(prepared: Prepared, fleet: Fleet, report: Report, again: Callable[[], Prepared]) -> None:
    """Apply the plan, watch the ranks to ready and prove it. On a failed start the whole gang is stopped.

    Work that an earlier run left running on the hosts is waited for first; what it did is then planned for `again`.
    """
    owner = this_run(_why(prepared))
    with locked(fleet, prepared.plan.hosts, owner, fleet.state_dirs):
        if jobs_finished(fleet, report):
            prepared = again()
        make = partial(
            apply,
            without_weights(prepared.plan),
            fleet,
            run=owner.run,
            state_dirs=fleet.state_dirs,
            progress=report,
            owner=owner,
        )
        if not prepared.plan.empty:
            with report.phase("Try"):
                tried = () if _only_staged(prepared.plan) else _tried(prepared, fleet, report)
            with report.phase("Apply"):
                make(phases=BEFORE)
            bring(prepared.weights, fleet, report, owner)
            with report.phase("Apply the rest"):
                make(phases=[phase for phase in Phase if phase not in {*BEFORE, Phase.START}])
            if later := {one.check for one in tried if one.status is Status.SKIP} & AFTER_INSTALLATION:
                with report.phase("Try what was installed"):
                    _tried(prepared, fleet, report, later)
            if not _only_staged(prepared.plan):
                bring_caches(fleet, prepared.assembly, report)
        _start_and_prove(prepared, fleet, report, partial(make, phases=[Phase.START]), owner)
        if not prepared.plan.empty:
            environment = prepared.assembly.needs.environment
            prune(fleet, prepared.plan.hosts, report, needed=[environment] if environment else [])
    report.timings()


def _only_staged(plan: Plan) -> bool:
    """Nothing is installed, and the ranks go on: there is nothing to try."""
    return all(change.phase is Phase.STAGE for change in plan.changes)


def _tried(
    prepared: Prepared, fleet: Fleet, report: Report, only: Collection[str] = URGENT_TRIALS
) -> tuple[Finding, ...]:
    """Packets between the hosts, CUDA, imports: what only trying tells. Raises `CheckFailed` for what forbids it."""
    asked = prepared.request
    told = run_trials(fleet, prepared.assembly.needs, only=only)
    seen = decided(told, asked.accept_unknown, asked.overrides)
    report.findings(seen, brief=True)
    _refuse_blocked(seen)
    return seen


def _why(prepared: Prepared) -> str:
    """What the lock says meanwhile and the audit log for ever: also which failed checks were overridden, and why."""
    asked = prepared.request
    notes = [f"overriding {check} because {reason!r}" for check, reason in asked.overrides.items()]
    notes += [f"accepting unknown {check}" for check in sorted(asked.accept_unknown)]
    return "; ".join([f"deploy {prepared.assembly.gang.name}", *notes])


def _start_and_prove(prepared: Prepared, fleet: Fleet, report: Report, start: Callable[[], None], owner: Owner) -> None:
    """From the first rank that starts on: one failed, all stop. The generation that served before is not forgotten."""
    gang, asked = prepared.assembly.gang, prepared.request
    started = any(change.phase is Phase.START for change in prepared.plan.changes)  # else it served, and may still
    change = Changing("deploy", gang.generation)
    try:
        with recorded(fleet, gang.name, gang.hosts, owner, change, report) if started else nullcontext():
            ready, answers = _started(prepared, fleet, report, start, started=started)
            change.ready = ready
        if not started:
            served = entry_of(owner, owner.since, "deploy", gang.generation, SERVING, note="it ran already")
            keep_served(fleet, gang.name, gang.hosts, served)
    except BringupError:
        if started:
            restore = asked.rollback_on_failure
            offer_or_restore(fleet, gang, owner, report, restore=restore, timeout_s=asked.ready_timeout_s)
        raise
    for answer in answers:
        report.say(
            f"{answer.endpoint.url} on {answer.endpoint.host}: {answer.text!r} in {answer.seconds} s", style="green"
        )
    urls = ", ".join(url for one in gang.members for url in one.urls)
    report.say(f"{gang.name} is serving on {urls}" if urls else f"{gang.name} is up", style="green")
    if started:
        with report.phase("Caches"):
            harvest(fleet, prepared.assembly, ready, report)
    report.say(f"next: invoke status {gang.flags}")


def _started(
    prepared: Prepared, fleet: Fleet, report: Report, start: Callable[[], None], *, started: bool
) -> tuple[Ready, tuple[Answer, ...]]:
    """One failed, all stop. A cache that broke the start is put aside, once."""
    gang = prepared.assembly.gang
    begin: Callable[[], None] | None = None if prepared.plan.empty else start
    while True:
        try:
            return _proven(prepared, fleet, report, begin)
        except BringupError as error:
            if started:
                operate.stop_failed(fleet, gang, report)
            if not started or begin is not start or not second_chance(fleet, gang, report, error):
                raise
            begin = partial(operate.start, fleet, gang)


def _proven(
    prepared: Prepared, fleet: Fleet, report: Report, start: Callable[[], None] | None
) -> tuple[Ready, tuple[Answer, ...]]:
    gang = prepared.assembly.gang
    if start is not None:
        with report.phase("Start"):
            start()
    with report.phase("Watch"):
        ready = operate.watched_by(fleet, gang, report, timeout_s=prepared.request.ready_timeout_s, told=prepared.told)
        operate.take_stock(fleet, gang, ready, report)
    with report.phase("Smoke"):
        return ready, operate.smoke(fleet, gang, timeout_s=operate.SMOKE_DEADLINE_S)


def _gathered(fleet: Fleet) -> dict[str, HostFacts]:
    facts, errors = gather_all(fleet)
    raise_all(list(errors.values()))
    return facts


def _assembled(found: Found, request: Request, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Assembly:
    one = launched(found, request, hosts, facts)
    return assemble(one.decision, one.name, one.choice.hosts, facts, one.engines, os.environ)


def _checked(
    needs: Requirements, request: Request, facts: Mapping[str, HostFacts], left_out: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    judged = replace(needs, at=time.time())
    return run_checks(
        facts, judged, accept_unknown=request.accept_unknown, overrides=request.overrides, left_out=left_out
    )


def _refuse_blocked(seen: tuple[Finding, ...]) -> None:
    stop = blocking(seen)
    if stop:
        ids = ", ".join(dict.fromkeys(finding.check for finding in stop))
        raise CheckFailed(
            f"{len(stop)} finding(s) forbid this deploy: {ids}; nothing was changed",
            id="checks-failed",
            observed=stop[0].observed,
            required=stop[0].required,
            next_command=stop[0].remedy,
            host=stop[0].host,
        )


def _refuse_left_behind(gang: Generation, seen: Survey) -> None:
    """Refuse a layout with fewer hosts while the earlier one runs: its ranks on the others would stay, unseen."""
    raise_all(list(seen.unanswered.values()))
    found = seen.deployments.get(gang.name)
    told = [*found.told.values(), *found.strays.values()] if found else []
    earlier = [one.generation for one in told if one.generation and one.ranks.state != STOPPED]
    left = sorted({host for one in earlier for host in one.hosts} - set(gang.hosts))
    if left:
        raise CheckFailed(
            f"{gang.name} was started on more hosts than these; nothing was changed",
            id="hosts-left-behind",
            observed=f"its ranks on {', '.join(left)} would be left behind",
            required="all hosts of the earlier layout in --hosts, or that layout stopped",
            next_command=f"invoke stop --name {gang.name} --hosts {','.join((*gang.hosts, *left))}",
        )


def _planned(assembly: Assembly, fleet: Fleet, seen: tuple[Finding, ...]) -> Plan:
    """Ask every host for the state of its steps, all hosts at once and each in one script."""

    def one(transport: Transport) -> dict[str, str]:
        steps = assembly.all_steps(transport.host)
        return read_states(steps, transport.run(probe_script(steps), timeout=PROBE_DEADLINE_S).text)

    states = fleet.all(one, assembly.gang.hosts)
    return Plan(
        format_version=FORMAT_VERSION,
        deployment=assembly.gang.name,
        generation=assembly.gang.generation,
        inputs_digest=digest([asdict(assembly.gang), [asdict(one) for one in assembly.needs.hosts]]),
        hosts=assembly.gang.hosts,
        findings=seen,
        changes=_changes(assembly, states),
    )


def _is_altered(assembly: Assembly, host: str, states: Mapping[str, dict[str, str]]) -> bool:
    """Tell whether a file that ranks are started from is not as planned."""
    steps = [step for step in assembly.all_steps(host) if step.id in assembly.launch[host].started_from]
    return any(states[host][step.id] != step.wanted for step in steps)


def _changes(assembly: Assembly, states: Mapping[str, dict[str, str]]) -> tuple[Change, ...]:
    gang = assembly.gang
    ranks = {host: read_state(states[host][assembly.launch[host].start.id]) for host in gang.hosts}
    intact = not any(_is_altered(assembly, host, states) for host in gang.hosts)
    ahead = states_ahead(gang.generation, ranks, intact=intact)
    changes: list[Change] = []
    for host in gang.hosts:
        launch = assembly.launch[host]
        states[host][launch.stop.id], states[host][launch.start.id] = ahead[host]
        with_ranks = launch.starts_guard and states[host][launch.start.id] != launch.start.wanted
        steps = [step for step in assembly.all_steps(host) if step is not launch.guard or not with_ranks]
        changes += changes_for(host, steps, states[host])
    return tuple(changes)
