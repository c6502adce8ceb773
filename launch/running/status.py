"""`invoke status`: the seven questions of whoever is called at three in the morning, asked of the hosts, read-only.

Is it serving, by proof? Are all ranks there? What failed first? Hardware? Load or hang? What changed? What is safe to
do now? Two round trips to each host, the second with several questions at once; a host that is silent is given up, so
that all of it ends within half a minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.transport.exchange import in_time
from launch.running.first_failure import FirstFailure, first_failure, progress_of
from launch.running.hardware import Hardware, look_at_hardware
from launch.running.history import Entry, united, usual
from launch.running.look import CANARY_S, DEADLINE_S, Look, look_script, read_look
from launch.running.next_step import NextStep, next_step
from launch.running.operate import canary_script
from launch.running.smoke import Answer, answer_of, endpoint_of
from launch.running.survey import Deployment
from launch.running.verdict import Health, Verdict, judge, states
from launch.watching.phases import Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inventory.fleet import Fleet
    from inventory.transport.base import Transport

SURVEY_S = 9.0
"""A host that has not told within it which deployments it has is silent."""
LOOK_S = 17.0


@dataclass(frozen=True, slots=True)
class Status:
    """A deployment with its ranks in one word per host, the canary of every endpoint, and the verdict.

    `phases`: how far ranks are that do not serve yet. `changes`: by host, what it stands on now that is different from
    when it last served.
    """

    deployment: Deployment
    states: Mapping[str, str]
    answers: tuple[Answer, ...]
    verdict: Verdict
    looks: Mapping[str, Look] = field(default_factory=dict)
    phases: Mapping[str, str] = field(default_factory=dict)
    first: FirstFailure | None = None
    hardware: Hardware = field(default_factory=Hardware)
    history: tuple[Entry, ...] = ()
    usual: Mapping[str, Entry] = field(default_factory=dict)
    next_step: NextStep | None = None


def status(fleet: Fleet, deployment: Deployment) -> Status:
    """Ask every host of the group that answers, and judge."""
    asked = tuple(host for host in deployment.gang.hosts if host not in deployment.unanswered)
    with ThreadPoolExecutor(2, thread_name_prefix="status") as pool:
        hardware = pool.submit(look_at_hardware, fleet, asked, within_s=LOOK_S)
        looks, lost = _looks(fleet, deployment, asked)
        seen_hardware = hardware.result()
    heard = replace(deployment, unanswered={**deployment.unanswered, **lost})
    answers = _answers(heard, looks)
    history = united({host: look.history for host, look in looks.items()})
    known = usual(history, deployment.gang.generation)
    verdict = judge(heard, answers)
    return Status(
        deployment=heard,
        states=states(heard),
        answers=answers,
        verdict=verdict,
        looks=looks,
        phases=_phases(heard, looks, verdict),
        first=first_failure(heard, looks, verdict, seen_hardware.findings),
        hardware=seen_hardware,
        history=history[-5:],
        usual=known,
        next_step=next_step(heard, verdict, seen_hardware, history, known),
    )


def _looks(
    fleet: Fleet, deployment: Deployment, hosts: Sequence[str]
) -> tuple[dict[str, Look], dict[str, BringupError]]:
    gang, seen = deployment.gang, states(deployment)

    def one(transport: Transport) -> Look:
        host, state_dir = transport.host, fleet.state_dirs[transport.host]
        member = gang.of(host)
        asks = bool(member.url) and seen[host] == "running"
        canary = endpoint_of(gang, member)
        script = canary_script(gang, canary, state_dir=state_dir, timeout_s=CANARY_S) if asks else ""
        completed = transport.run(look_script(gang, host, script, state_dir=state_dir), timeout=DEADLINE_S)
        return read_look(in_time(completed, host).stdout)

    outcomes = fleet.each(one, hosts, within_s=LOOK_S)
    looks = {host: outcome for host, outcome in outcomes.items() if isinstance(outcome, Look)}
    return looks, {host: outcome for host, outcome in outcomes.items() if isinstance(outcome, BringupError)}


def _answers(deployment: Deployment, looks: Mapping[str, Look]) -> tuple[Answer, ...]:
    """What the completions said, of the endpoints that were asked."""
    gang, seen = deployment.gang, states(deployment)
    asked = [one for one in gang.members if one.url and one.host in looks and seen[one.host] == "running"]
    return tuple(answer_of(endpoint_of(gang, one), looks[one.host].canary) for one in asked)


def _phases(deployment: Deployment, looks: Mapping[str, Look], verdict: Verdict) -> dict[str, str]:
    """How far the ranks of each host are. Of a group that serves no log is read: a completion says more."""
    if verdict.health is Health.HEALTHY:
        return dict.fromkeys(looks, str(Phase.READY))
    found = {}
    for member in deployment.gang.members:
        if member.host in looks and (log := looks[member.host].log):
            progress = progress_of(member, log)
            found[member.host] = progress.sentence
    return found
