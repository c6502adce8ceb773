"""The caches of a gang: to all hosts behind a good start, and out of the way of the next one where they broke it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from inventory.errors import BringupError, NotServing
from inventory.quoting import quote
from launch.caches.kv_memory import keep_script, key_of, measured
from launch.caches.poison import Poison, poison_of
from launch.caches.scripts import Place
from launch.caches.spread import spread
from launch.running.supervise import preamble, tail_script
from playbooks.checks.sto_cache_symmetric import owners_of
from playbooks.layout import Layout

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport
    from launch.building.assemble import Assembly
    from launch.building.generation import Generation
    from launch.caches.merge import Rank
    from launch.console.report import Report
    from launch.watching.watch import Ready

READ_LINES = 4000
SET = ".bringup-set.json"
ASK_S = 60.0


def places_of(assembly: Assembly, state_dirs: Mapping[str, str]) -> dict[str, list[Place]]:
    """Where each host has its caches, by stamp: hosts of another driver or GPU have others, and share none."""
    found: dict[str, list[Place]] = {}
    for node, command in zip(assembly.decision.placement.nodes, assembly.decision.commands, strict=True):
        if command.stamp:
            stamp = command.stamp.digest
            folder = f"{Layout(state_dirs[node.host]).caches}/{stamp}"
            python = assembly.gang.of(node.host).python
            found.setdefault(stamp, []).append(Place(node.host, folder, python, node.address))
    return found


def owners(assembly: Assembly, places: Sequence[Place]) -> dict[Rank, str]:
    """The host of every rank, as far as `places` have it."""
    hosts = {place.host for place in places}
    return {(rank, dp): host for (dp, rank), host in owners_of(assembly.needs).items() if host in hosts}


def harvest(fleet: Fleet, assembly: Assembly, ready: Ready, report: Report) -> None:
    """Give all hosts what any of them has compiled, and keep what was measured. Never fails a deploy."""
    _keep_memory(fleet, assembly, ready, report)
    fleet.each(_doing("caches_are_good", assembly.gang, fleet), assembly.gang.hosts)
    for places in places_of(assembly, fleet.state_dirs).values():
        if len(places) > 1:  # else what it has is all there is
            _say_spread(fleet, assembly, places, report)


def bring(fleet: Fleet, assembly: Assembly, report: Report) -> None:
    """Before a start: give a host that is new to the gang what the others have. Never fails a deploy.

    Nothing of the gang runs now, and only hosts that lack the set of their stamp make it worth reading caches.
    """
    for places in places_of(assembly, fleet.state_dirs).values():
        hosts = [place.host for place in places]
        asked = {place.host: f"[ ! -e {quote(place.folder)}/{SET} ] || echo there\n" for place in places}
        outcomes = fleet.each(_asking(asked), hosts)
        known = {host for host, one in outcomes.items() if not isinstance(one, BringupError) and one.text.strip()}
        if known and known != set(hosts):
            _say_spread(fleet, assembly, places, report)


def _asking(scripts: Mapping[str, str]) -> Callable[[Transport], Completed]:
    return lambda transport: transport.run(scripts[transport.host], timeout=ASK_S)


def _say_spread(fleet: Fleet, assembly: Assembly, places: Sequence[Place], report: Report) -> None:
    try:
        told = spread(fleet, places, owners(assembly, places)).sentences
    except BringupError as error:
        report.say(f"{error.host}: {error.message}: {error.observed} [{error.id}]", style="yellow")
    else:
        for line in told:
            report.say(line)


def _keep_memory(fleet: Fleet, assembly: Assembly, ready: Ready, report: Report) -> None:
    """What the workers measured, on their host, for the next identical start."""
    kept = {}
    for command in assembly.decision.commands:
        lines = ready.memory_lines.get(command.host, ())
        if gpu := assembly.gpu_names.get(command.host):
            kept[command.host] = measured(lines, key_of(command), gpu)
    scripts = {
        host: keep_script(one, state_dir=fleet.state_dirs[host]) for host, one in kept.items() if one is not None
    }
    outcomes = fleet.each(_asking(scripts), tuple(scripts))
    for host, outcome in outcomes.items():
        if isinstance(outcome, BringupError) or outcome.exit_status:
            report.say(f"{host}: what it measured of its KV cache could not be kept", style="yellow")


def poisoned(fleet: Fleet, gang: Generation) -> Poison | None:
    """The line of any host's log that blames a cache for a start that failed; None: no host that answers has one."""

    def one(transport: Transport) -> Poison | None:
        script = tail_script(gang.name, READ_LINES, state_dir=fleet.state_dirs[transport.host])
        return poison_of(transport.host, transport.run(script, timeout=ASK_S).text.splitlines())

    outcomes = fleet.each(one, gang.hosts)
    return next((found for found in outcomes.values() if isinstance(found, Poison)), None)


def second_chance(fleet: Fleet, gang: Generation, report: Report, error: BringupError) -> bool:
    """Whether a start that failed is worth another: its log blames a cache, and that was put aside just now, once.

    Nothing of the gang may run any more.
    """
    if not isinstance(error, NotServing):
        return False
    found = poisoned(fleet, gang)
    if found is None:
        return False
    report.say(f"{found.host}: its log blames what it found in its caches: {found.line}", style="yellow")
    if set_aside(fleet, gang, report):
        return True
    report.say("the caches were put aside once before, or are in use: nothing more is tried", style="yellow")
    return False


def set_aside(fleet: Fleet, gang: Generation, report: Report) -> bool:
    """Move the caches of the gang out of the way on every host. False where that was done before, or cannot be.

    Nothing of the gang may run. On all hosts or on none: a warm rank beside a cold one waits for it.
    """
    if not all(_said(fleet, gang, "aside_is_free")):
        return False
    told = _said(fleet, gang, "set_caches_aside")
    for lines in told:
        for line in lines.splitlines():
            report.say(f"caches are out of the way: {line}", style="yellow")
    return all(line.startswith("aside ") for lines in told for line in lines.splitlines())


def _said(fleet: Fleet, gang: Generation, function: str) -> list[str]:
    """What each host says; empty of one that did not do it."""
    outcomes = fleet.each(_doing(function, gang, fleet), gang.hosts)
    return ["" if isinstance(one, BringupError) or one.exit_status else one.text for one in outcomes.values()]


def _doing(function: str, gang: Generation, fleet: Fleet) -> Callable[[Transport], Completed]:
    def one(transport: Transport) -> Completed:
        state_dir = fleet.state_dirs[transport.host]
        return transport.run(f"{preamble(state_dir)}\n{function} {quote(gang.name)}\n", timeout=ASK_S)

    return one
