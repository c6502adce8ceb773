"""What failed first, by the ends of the logs that `status` has already: the judge of `diagnose` names it. Pure.

The table of failures is read only where something is down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from launch.running.verdict import Health, states
from launch.watching.phases import Progress, Role, phase_of

if TYPE_CHECKING:
    from launch.building.generation import Generation, Member
    from launch.diagnosis.judge import Judgement
    from launch.running.look import Look
    from launch.running.survey import Deployment
    from launch.running.verdict import Verdict
    from playbooks.finding import Finding

MOST_CHARACTERS = 768 * 1024
"""Of all ends together, shared out evenly: more would be judged for seconds."""


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """Which host, which sentence, and the line of its log that holds it. `id`: of the failure, empty: none is known."""

    host: str
    sentence: str
    line: str
    id: str = ""


def first_failure(
    deployment: Deployment, looks: Mapping[str, Look], verdict: Verdict, findings: tuple[Finding, ...] = ()
) -> FirstFailure | None:
    """`findings`: of the hardware. None: nothing failed, or no log tells what."""
    if verdict.health in {Health.HEALTHY, Health.STOPPED}:
        return None
    logs = {host: look.log for host, look in looks.items() if look.log}
    if verdict.health is not Health.DOWN or not logs:
        return _by_words(deployment, logs)
    judged = _judged(deployment.gang, logs, findings)
    if judged.first is None:
        where = judged.errors[0].host if judged.errors else ""
        return _by_words(deployment, {where: logs[where]} if where in logs else logs)
    if judged.first.severity == "info":
        return _by_words(deployment, logs)
    first, only = judged.first, "only a consequence is told: " if judged.answer == "consequence" else ""
    line = first.evidence[0].text if first.evidence else ""
    return FirstFailure(first.host, f"{only}{first.sentence}", line, first.id)


def _judged(gang: Generation, logs: Mapping[str, str], findings: tuple[Finding, ...]) -> Judgement:
    from launch.diagnosis.judge import judge
    from launch.diagnosis.replay import File, capture_of

    each = MOST_CHARACTERS // len(logs)
    capture = capture_of([File(f"{host}/log", host, text[-each:], cut=False) for host, text in logs.items()])
    return judge(replace(capture, findings=findings, name=gang.name, model=gang.recipe))


def _by_words(deployment: Deployment, logs: Mapping[str, str]) -> FirstFailure | None:
    """The first error in a rank's own words, that of a host whose ranks are gone before any other's."""
    seen = states(deployment)
    members = sorted(deployment.gang.members, key=lambda one: seen[one.host] in {"running", "no answer"})
    told = ((one.host, progress_of(one, logs[one.host])) for one in members if one.host in logs)
    return next((FirstFailure(host, one.error, one.cause_line) for host, one in told if one.error), None)


def progress_of(member: Member, log: str) -> Progress:
    return phase_of(log.splitlines(), Role.SERVING if member.url else Role.HEADLESS)
