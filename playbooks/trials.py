"""Run the active checks: their scripts on the hosts, each kind on all hosts at once, and their judgement.

Trials run one after another, so that none measures another one's traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from inventory.errors import BringupError
from inventory.facts.base import Maybe, Unknown, Why
from playbooks.checks.active import HOST_TRIALS, PAIR_TRIALS
from playbooks.checks.active.base import ActiveCheck, HostTrial, PairTrial, Said
from playbooks.finding import Finding, Status

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from playbooks.requirements import Requirements

T = TypeVar("T", bound=ActiveCheck)
Told = Callable[[str], None]
MARGIN_S = 10.0
"""What a host gets over a trial's own deadline, before its shell is ended."""


def run_trials(
    fleet: Fleet, needs: Requirements, *, only: Collection[str] | None = None, told: Told = lambda _: None
) -> tuple[Finding, ...]:
    """The findings of all active checks, or of those whose ids are in `only`. `told` gets a line before each."""
    findings: list[Finding] = []
    for trial in _wanted(HOST_TRIALS, only):
        told(f"{trial.ID}: {trial.WHY}")
        findings += _guarded(trial, lambda trial=trial: _on_hosts(fleet, needs, trial))  # type: ignore[misc]
    for pair in _wanted(PAIR_TRIALS, only):
        told(f"{pair.ID}: {pair.WHY}")
        findings += _guarded(pair, lambda pair=pair: _between_hosts(fleet, needs, pair))  # type: ignore[misc]
    return tuple(findings)


def _wanted(trials: Iterable[T], only: Collection[str] | None) -> list[T]:
    return [trial for trial in trials if only is None or trial.ID in only]


def _guarded(trial: ActiveCheck, run: Callable[[], Iterable[Finding]]) -> tuple[Finding, ...]:
    """A trial that breaks is an unknown finding, like any other check."""
    try:
        return tuple(run())
    except Exception as error:  # noqa: BLE001  (whatever it is, the other trials must still be heard)
        observed = f"the check broke: {type(error).__name__}: {error}"
        remedy = f"report it as a bug of bringup; to go on without: --accept-unknown {trial.ID}"
        return (Finding(trial.ID, Status.UNKNOWN, "", observed, "the check runs to its end", remedy),)


def _on_hosts(fleet: Fleet, needs: Requirements, trial: HostTrial) -> list[Finding]:
    scripts = {one.host: trial.script(one, needs) for one in needs.hosts}
    said = _run(fleet, scripts, trial.DEADLINE_S)
    return [
        script if isinstance(script, Finding) else trial.judge(said[one.host], one, needs)
        for one in needs.hosts
        for script in (scripts[one.host],)
    ]


def _between_hosts(fleet: Fleet, needs: Requirements, pair: PairTrial) -> tuple[Finding, ...]:
    listens = {one.host: pair.listen(one, needs) for one in needs.hosts}
    listening = _run(fleet, listens, pair.DEADLINE_S)
    try:
        if getattr(pair, "RECONNECTS", False):
            fleet.reconnect()
        connects = {one.host: pair.connect(one, needs, listening) for one in needs.hosts if one.host in listening}
        connected = _run(fleet, connects, pair.DEADLINE_S)
    finally:
        ends = {host: pair.hang_up(said) for host, said in listening.items() if isinstance(said, Said)}
        _run(fleet, ends, pair.DEADLINE_S)
    early = (*listens.values(), *connects.values())
    return (*(one for one in early if isinstance(one, Finding)), *pair.judge(listening, connected, needs))


def _run(fleet: Fleet, scripts: Mapping[str, str | Finding], deadline_s: int) -> dict[str, Maybe[Said]]:
    """What each script said; a host that did not answer is an `Unknown`. Hosts with a finding run nothing."""
    texts = {host: script for host, script in scripts.items() if isinstance(script, str)}

    def one(transport: Transport) -> Said:
        done = transport.run(texts[transport.host], timeout=deadline_s + MARGIN_S)
        return Said(done.exit_status, done.text, done.stderr.decode("utf-8", errors="replace"))

    outcomes = fleet.each(one, tuple(texts)) if texts else {}
    return {host: _unknown(said) if isinstance(said, BringupError) else said for host, said in outcomes.items()}


def _unknown(error: BringupError) -> Unknown:
    return Unknown(Why.UNREADABLE, f"{error.message} [{error.id}]")
