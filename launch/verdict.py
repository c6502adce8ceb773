"""Is it serving? Decided from ranks and completions, never from a health check. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from inventory.errors import ExitCode
from launch.gang import RUNNING

if TYPE_CHECKING:
    from launch.smoke import Answer
    from launch.survey import Deployment


class Health(StrEnum):
    HEALTHY = "healthy"
    DOWN = "down"
    UNKNOWN = "unknown"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is one sentence; `next_command` the one thing that is safe to do now."""

    health: Health
    reason: str
    next_command: str

    @property
    def exit_code(self) -> ExitCode:
        codes = {Health.HEALTHY: ExitCode.DONE, Health.UNKNOWN: ExitCode.UNREACHABLE}
        return codes.get(self.health, ExitCode.NOT_SERVING)


def states(deployment: Deployment) -> dict[str, str]:
    """Each host of the gang in one word: running, partial, dead, stopped, absent, other generation, no answer."""
    found = {}
    for host in deployment.gang.hosts:
        told = deployment.told.get(host)
        if host in deployment.unanswered:
            found[host] = "no answer"
        elif told is None:
            found[host] = "absent"
        elif told.ranks.generation != deployment.gang.generation:
            found[host] = "other generation"
        else:
            found[host] = told.ranks.state
    return found


def judge(deployment: Deployment, answers: Sequence[Answer]) -> Verdict:
    """A rank that is gone decides before a completion that succeeded: its requests will hang.

    Silence of a host decides nothing: the ranks there may serve.
    """
    seen = states(deployment)
    name = deployment.gang.name
    gone = {host: state for host, state in seen.items() if state not in {RUNNING, "no answer"}}
    if gone and all(state == "stopped" for state in seen.values()):
        return Verdict(Health.STOPPED, f"{name} is stopped on all hosts", f"invoke restart --name {name}")
    if gone:
        return Verdict(Health.DOWN, f"the group is down: {_listed(gone)}", f"invoke restart --name {name}")
    failed = [one for one in answers if not one.ok]
    if failed:
        where = "; ".join(f"{one.endpoint.url} on {one.endpoint.host}: {one.error}" for one in failed)
        return Verdict(Health.DOWN, f"no completion from {where}", f"invoke logs --name {name}")
    if deployment.unanswered:
        silent = {host: state for host, state in seen.items() if state == "no answer"}
        next_command = f"invoke hosts.list --hosts {','.join(silent)}"
        return Verdict(Health.UNKNOWN, f"state unknown: {_listed(silent)}", next_command)
    return Verdict(Health.HEALTHY, f"{len(answers)} endpoint(s) completed a chat, all ranks run", "nothing to do")


def _listed(states_by_host: Mapping[str, str]) -> str:
    return ", ".join(f"{host} {state}" for host, state in states_by_host.items())
