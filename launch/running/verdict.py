"""Is it serving? Decided from ranks and completions, never from a health check. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from inventory.errors import ExitCode
from inventory.quoting import quote
from launch.building.gang import RUNNING

if TYPE_CHECKING:
    from launch.building.generation import Generation
    from launch.running.smoke import Answer
    from launch.running.survey import Deployment


MIXED = frozenset({"absent", "other generation"})
"""States of hosts that do not have this generation: a start would start something else there."""


class Health(StrEnum):
    HEALTHY = "healthy"
    DOWN = "down"
    DEGRADED = "degraded"
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
    name, flags = deployment.gang.name, deployment.gang.flags
    gone = {host: state for host, state in seen.items() if state not in {RUNNING, "no answer"}}
    if gone and all(state == "stopped" for state in seen.values()):
        return Verdict(Health.STOPPED, f"{name} is stopped on all hosts", f"invoke restart {flags}")
    if gone:
        whole = not MIXED & set(gone.values())
        next_command = f"invoke restart {flags}" if whole else deploy_again(deployment.gang)
        return Verdict(Health.DOWN, f"the group is down: {_listed(gone)}", next_command)
    silent = {host: state for host, state in seen.items() if state == "no answer"}
    look = f"invoke probe --hosts {quote(','.join(silent))}" if silent else f"invoke logs {flags}"
    failed = [one for one in answers if not one.ok]
    if failed:
        where = "; ".join(f"{one.endpoint.url} on {one.endpoint.host}: {one.error}" for one in failed)
        # The host that is silent comes first: what the others do not complete may be its doing.
        reason = ", and ".join([_listed(silent)] * bool(silent) + [f"no completion from {where}"])
        return Verdict(Health.DOWN, reason, look)
    if silent:
        return Verdict(Health.UNKNOWN, f"state unknown: {_listed(silent)}", look)
    if deployment.strays:
        where = ", ".join(deployment.strays)
        reason = f"serving, but ranks of another layout of {name} still run on {where} and hold what they hold"
        everywhere = quote(",".join((*deployment.gang.hosts, *deployment.strays)))
        return Verdict(Health.DEGRADED, reason, f"invoke restart --hosts {everywhere} --name {quote(name)}")
    endpoints = sum(one.endpoint.count for one in answers)
    return Verdict(Health.HEALTHY, f"{endpoints} endpoint(s) completed a chat, all ranks run", "nothing to do")


def deploy_again(gang: Generation) -> str:
    """The command that brings this very gang up on all its hosts."""
    chosen = f"--model {quote(gang.recipe)} --variant {quote(gang.variant)} --strategy {quote(gang.strategy)}"
    if gang.load_balancing == "external":  # strategies have the other two
        chosen += " --load-balancing external"
    return f"invoke deploy {chosen} {gang.flags}"


def _listed(states_by_host: Mapping[str, str]) -> str:
    return ", ".join(f"{host} {state}" for host, state in states_by_host.items())
