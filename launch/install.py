"""Bring hosts to what playbooks, and the plan of a model, want of them: look, plan, show, apply, read back.

`prepare` changes nothing and ends in an exact plan; `carry_out` does exactly that plan. A restart is never part of it:
the run ends there, or restarts the hosts in turn where it was told to, plans anew and goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed, raise_all
from inventory.facts.base import Maybe
from playbooks.look import Look, look, read, sections_for
from playbooks.plan import FORMAT_VERSION, Change, Phase, Plan, Step, changes_for, digest
from playbooks.steps.reboot import NOT_NEEDED
from playbooks.wanted import LeftOut, asks_facts, early_steps, mirrors_of, settings_of, wanted_on

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.schema import Host
    from inventory.transport.base import Transport
    from launch.building.assemble import Assembly
    from launch.catalogue.find import Found
    from launch.console.report import Report
    from launch.request import Request
    from playbooks.lock import Owner
    from playbooks.repositories.source import Source
    from playbooks.schema import Playbook

READERS = ("inventory.facts.raw",)
"""Imported while the hosts answer."""

MODEL_PHASES = (Phase.PROVISION,)
"""Of what a launch needs: the environment. Weights and the launch itself are deploy's."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an operator asked for. `model`: a recipe and the request of a launch. `phases`: those that are planned."""

    playbooks: tuple[Playbook, ...]
    values: Mapping[str, str] = field(default_factory=dict)
    model: tuple[Found, Request] | None = None
    phases: tuple[Phase, ...] = tuple(Phase)
    reboot: bool = False

    @property
    def name(self) -> str:
        names = [one.name for one in self.playbooks]
        return "+".join(names + ([self.model[1].model] if self.model else []))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan, all the steps of each host that it was made of, and what was left out.

    `postponed`: the model cannot be placed before this plan is done; it brings the drivers.
    """

    wish: Wish
    plan: Plan
    steps: Mapping[str, tuple[Step, ...]]
    left_out: Mapping[str, tuple[LeftOut, ...]]
    postponed: bool = False
    environments: tuple[str, ...] = ()  # digests of those that the launch would run in


def prepare(wish: Wish, fleet: Fleet, report: Report) -> Prepared:
    """Look at the hosts and plan. Raises what forbids it; nothing is changed."""
    settings = settings_of(wish.playbooks, wish.values)
    with report.phase("Look"):
        sources = _sources(wish, fleet, settings)
        said = {name: _Said(host, settings, sources[name]) for name, host in fleet.hosts.items()}
        early = _early(wish, said)
        seen = _looked(wish, fleet, settings, early)
    with report.phase("Plan"):
        facts = {host: one.facts for host, one in seen.items() if one.facts is not None}
        postponed = _without_drivers(wish, facts, report)
        assembly = None if postponed else _assembly(wish, fleet, facts, report)
        steps: dict[str, tuple[Step, ...]] = {}
        left_out: dict[str, tuple[LeftOut, ...]] = {}
        errors: list[BringupError] = []
        for host, one in seen.items():
            try:
                steps[host], left_out[host] = (
                    (early[host], ()) if one.facts is None else _steps(wish, said[host], one.facts, assembly)
                )
            except BringupError as error:
                errors.append(error)
        raise_all(errors)
        states = _all_states(fleet, steps, {host: one.states for host, one in seen.items()})
        plan = _planned(wish, fleet, steps, states)
    environment = assembly.needs.environment if assembly else None
    return Prepared(wish, plan, steps, left_out, postponed, (environment,) if environment else ())


def _without_drivers(wish: Wish, facts: Mapping[str, HostFacts], report: Report) -> bool:
    """Whether the drivers come first. Raises `CheckFailed` where nothing in the wish brings them."""
    if wish.model is None:
        return False
    from launch.equipping.bare import bare_hosts, is_equipped, refuse_bare

    bare = bare_hosts(facts)
    if bare and not is_equipped(bare, [one.name for one in wish.playbooks]):
        refuse_bare(bare, facts)
    if bare:
        report.say(f"  no driver answers on {', '.join(bare)}: {wish.model[1].model} is planned when it does")
    return bool(bare)


def then_the_model(wish: Wish, fleet: Fleet, report: Report, again: Callable[[], Prepared]) -> None:
    """What had to wait for drivers: look once more, place the model, apply. Raises `CheckFailed` if none answers."""
    prepared = again()
    if prepared.postponed:
        from launch.equipping.bare import bare_hosts, refuse_bare
        from launch.hosts.gather import gather_all

        facts, _ = gather_all(fleet)
        refuse_bare(bare_hosts(facts), facts, [one.name for one in wish.playbooks])
    elif not prepared.plan.empty:
        carry_out(prepared, fleet, report, again)


def carry_out(prepared: Prepared, fleet: Fleet, report: Report, again: Callable[[], Prepared]) -> None:
    """Apply the plan, restart what needs it where that was allowed, and read everything back."""
    # What changes hosts is imported where there is something to change.
    from launch.pruning import prune
    from launch.reattach import jobs_finished
    from playbooks.control import locked, this_run
    from playbooks.reboot import refuse_pending, restart_all

    wish = prepared.wish
    owner = this_run(f"install {wish.name}")
    with locked(fleet, prepared.plan.hosts, owner, fleet.state_dirs):
        if jobs_finished(fleet, report):
            prepared = again()
        before = _before_reboot(wish.phases)
        with report.phase("Apply"):
            _apply(prepared, fleet, owner, report, before, owner.run)
        needed = _needed(prepared, fleet)
        if needed and not wish.reboot:
            refuse_pending(needed)
        if needed:
            with report.phase("Restart"):
                restart_all([fleet.hosts[host] for host in needed], report.say)
            prepared = again()
            _refuse_still_needed(_needed(prepared, fleet))
        left = wish.phases if needed else tuple(phase for phase in wish.phases if phase not in before)
        with report.phase("Apply the rest"):
            _apply(prepared, fleet, owner, report, left, f"{owner.run}-2" if needed else owner.run)
        with report.phase("Read back"):
            _refuse_unconverged(prepared, fleet)
        prune(fleet, prepared.plan.hosts, report, needed=prepared.environments)
    report.timings()


def _before_reboot(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    order = list(Phase)
    return tuple(phase for phase in phases if order.index(phase) < order.index(Phase.REBOOT))


def _apply(prepared: Prepared, fleet: Fleet, owner: Owner, report: Report, phases: Sequence[Phase], run: str) -> None:
    """What of `phases` is not done yet; never a restart."""
    from playbooks.apply import apply

    chosen = [phase for phase in phases if phase is not Phase.REBOOT]
    apply(prepared.plan, fleet, run=run, state_dirs=fleet.state_dirs, progress=report, phases=chosen, owner=owner)


@dataclass(frozen=True, slots=True)
class _Said:
    """What operators say of a host: the inventory, the settings of each playbook, where packages come from."""

    host: Host
    settings: Mapping[str, Mapping[str, str]]
    sources: Mapping[str, Source]


def _sources(wish: Wish, fleet: Fleet, settings: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, Source]]:
    """Where each host's packages come from, by the mirror's name: those that an entry of these playbooks names."""
    names = mirrors_of(wish.playbooks, settings)
    if not names:
        return {host: {} for host in fleet.hosts}
    from playbooks.repositories.resolve import Keys, sources_of
    from playbooks.wheelhouse.store import default_folder

    keys = Keys(default_folder().parent / "keys")
    return {name: sources_of(host, sorted(names), keys) for name, host in fleet.hosts.items()}


def _looked(
    wish: Wish,
    fleet: Fleet,
    settings: Mapping[str, Mapping[str, str]],
    early: Mapping[str, tuple[Step, ...]],
) -> dict[str, Look]:
    """Ask all hosts at once for all states that no fact decides, and for the facts that decide others: one round trip.

    Where settings alone decide, no facts are asked for.
    """
    blind = wish.model is None and not asks_facts(wish.playbooks, settings)
    sections = frozenset() if wish.model else sections_for(entry for one in wish.playbooks for entry in one.entries)
    if not blind:
        threading.Thread(target=lambda: [import_module(name) for name in READERS], daemon=True).start()

    def one(transport: Transport) -> Look:
        steps = early[transport.host]
        if blind:
            return Look(read(transport, steps))
        from launch.hosts.gather import asked_of

        return look(transport, asked_of(fleet.hosts, transport.host, only=sections), steps)

    return fleet.all(one)


def _assembly(wish: Wish, fleet: Fleet, facts: Mapping[str, HostFacts], report: Report) -> Assembly | None:
    """The launch that the model would be on these hosts; None: no model was given."""
    if wish.model is None:
        return None
    from launch.building.wheelhouses import supplied

    found, request = wish.model
    return supplied(found, request, fleet, facts, report)


def _early(wish: Wish, said: Mapping[str, _Said]) -> dict[str, tuple[Step, ...]]:
    """The steps of each host that no fact changes; made once for hosts of which the same is said."""
    made: list[tuple[str, Mapping[str, Source], tuple[Step, ...]]] = []
    found: dict[str, tuple[Step, ...]] = {}
    for name, one in said.items():
        state_dir, sources = one.host.state_dir, one.sources
        known = next((steps for at, given, steps in made if (at, given) == (state_dir, sources)), None)
        if known is None:
            known = _of_phases(early_steps(wish.playbooks, one.settings, state_dir, sources), wish.phases)
            made.append((state_dir, sources, known))
        found[name] = known
    return found


def _steps(
    wish: Wish, said: _Said, facts: HostFacts, assembly: Assembly | None
) -> tuple[tuple[Step, ...], tuple[LeftOut, ...]]:
    host = said.host
    from playbooks.situation import Situation

    needs = assembly.needs if assembly else None
    situations = {
        name: Situation(facts, _hardware(facts), needs, given, host.state_dir, said.sources)
        for name, given in said.settings.items()
    }
    wanted = wanted_on(wish.playbooks, situations)
    of_model = assembly.steps.get(host.name, ()) if assembly else ()
    steps = (*wanted.steps, *(step for step in of_model if step.phase in MODEL_PHASES))
    return _of_phases(steps, wish.phases), wanted.left_out


def _hardware(facts: HostFacts) -> Maybe[str]:
    from launch.choosing.hardware import profile_to_equip

    return profile_to_equip(facts)


def _of_phases(steps: Sequence[Step], phases: Sequence[Phase]) -> tuple[Step, ...]:
    return tuple(step for step in steps if step.phase in phases)


def _all_states(
    fleet: Fleet, steps: Mapping[str, tuple[Step, ...]], seen: Mapping[str, dict[str, str]]
) -> dict[str, dict[str, str]]:
    """The states of all steps: those that were asked for already, and now those that a fact had to decide first."""
    late = {host: [step for step in ours if step.id not in seen[host]] for host, ours in steps.items()}
    asked = _read(fleet, {host: ours for host, ours in late.items() if ours})
    return {host: {**seen[host], **asked.get(host, {})} for host in steps}


def _read(fleet: Fleet, steps: Mapping[str, Sequence[Step]]) -> dict[str, dict[str, str]]:
    return fleet.all(lambda transport: read(transport, steps[transport.host]), tuple(steps)) if steps else {}


def _planned(
    wish: Wish, fleet: Fleet, steps: Mapping[str, tuple[Step, ...]], states: Mapping[str, dict[str, str]]
) -> Plan:
    changes: list[Change] = []
    errors: list[BringupError] = []
    for host in steps:
        try:
            changes += changes_for(host, steps[host], states[host])
        except BringupError as error:
            errors.append(error)
    raise_all(errors)
    return Plan(
        format_version=FORMAT_VERSION,
        deployment=wish.name,
        generation="",
        inputs_digest=digest([wish.name, {host: dict(one) for host, one in states.items()}]),
        hosts=tuple(fleet.hosts),
        findings=(),
        changes=tuple(changes),
    )


def _needed(prepared: Prepared, fleet: Fleet) -> dict[str, str]:
    """Why each host must be restarted now; hosts that need not be are left out."""
    asked = {host: [step for step in ours if step.phase is Phase.REBOOT] for host, ours in prepared.steps.items()}
    states = _read(fleet, {host: ours for host, ours in asked.items() if ours})
    reasons = {host: [state for state in ours.values() if state != NOT_NEEDED] for host, ours in states.items()}
    return {host: "; ".join(ours) for host, ours in reasons.items() if ours}


def _refuse_still_needed(needed: Mapping[str, str]) -> None:
    raise_all(
        [_not_converged(host, reason, NOT_NEEDED, "a restart has not changed") for host, reason in needed.items()]
    )


def _refuse_unconverged(prepared: Prepared, fleet: Fleet) -> None:
    """What one step made right a later one may have undone: at the end all of them are looked at once more."""
    states = _read(fleet, prepared.steps)
    off = [
        (host, step) for host, ours in prepared.steps.items() for step in ours if states[host][step.id] != step.wanted
    ]
    raise_all([_not_converged(host, states[host][step.id], step.wanted, step.id) for host, step in off])


def _not_converged(host: str, observed: str, required: str, what: str) -> ChangeFailed:
    return ChangeFailed(
        f"{what} is not as wanted after everything was done",
        id="not-converged",
        observed=observed,
        required=required,
        next_command="the same command with --dry-run --diff: it shows what would be changed again",
        host=host,
    )
