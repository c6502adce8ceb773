"""What deployments there are on hosts, as the hosts themselves tell: nothing is kept on the control machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, NotServing
from launch.supervise import Told, read_told, tell_script

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.generation import Generation

DEADLINE_S = 15.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """One deployment over all hosts that were asked. `told` has an entry per host that answered and knows it."""

    gang: Generation
    told: Mapping[str, Told]
    unanswered: Mapping[str, BringupError]

    @property
    def missing(self) -> tuple[str, ...]:
        """Hosts of the gang that answered but do not know this generation, or were not asked."""
        return tuple(host for host in self.gang.hosts if host not in self.told and host not in self.unanswered)


@dataclass(frozen=True, slots=True)
class Survey:
    """All deployments by name, and the hosts that did not answer."""

    deployments: Mapping[str, Deployment]
    unanswered: Mapping[str, BringupError]


def survey(fleet: Fleet) -> Survey:
    """Ask every host which deployments it has."""

    def one(transport: Transport) -> tuple[Told, ...]:
        answer = transport.run(tell_script(state_dir=fleet.state_dirs[transport.host]), timeout=DEADLINE_S)
        return read_told(answer.text, transport.host)

    outcomes = fleet.each(one)
    unanswered = {host: error for host, error in outcomes.items() if isinstance(error, BringupError)}
    told = {host: found for host, found in outcomes.items() if not isinstance(found, BringupError)}
    return Survey(united(told, unanswered), unanswered)


def the_one(found: Survey, name: str | None) -> Deployment:
    """The deployment called `name`, or the only one. Raises `BadInput` when that does not name one."""
    if name and name in found.deployments:
        return found.deployments[name]
    if not name and len(found.deployments) == 1:
        return next(iter(found.deployments.values()))
    known = ", ".join(found.deployments) or "none"
    if not found.deployments and found.unanswered:
        raise next(iter(found.unanswered.values()))
    if not found.deployments:
        raise NotServing(
            "there is no deployment on these hosts",
            id="no-deployment",
            observed="no host has one" if not name else f"no host has {name}",
            required="a deployment",
            next_command="invoke deploy --model tiny-dense --hosts local",
        )
    raise BadInput(
        f"no deployment is called {name}" if name else "there are several deployments",
        id="deployment-name",
        observed=known,
        required="--name with one of them",
        next_command=f"the same command with --name {next(iter(found.deployments))}",
    )


def united(told: Mapping[str, tuple[Told, ...]], unanswered: Mapping[str, BringupError]) -> dict[str, Deployment]:
    """Unite what hosts say by name. Where hosts know different generations, the one that runs counts."""
    names = dict.fromkeys(one.name for found in told.values() for one in found)
    return {
        name: united
        for name in names
        if (united := _of_name({h: one for h, found in told.items() for one in found if one.name == name}, unanswered))
    }


def _of_name(told: Mapping[str, Told], unanswered: Mapping[str, BringupError]) -> Deployment | None:
    known = [one for one in told.values() if one.generation]
    if not known:
        return None
    gang = max(known, key=lambda one: one.ranks.state == "running").generation
    assert gang is not None  # noqa: S101  (`known` has only those)
    return Deployment(
        gang=gang,
        told={host: told[host] for host in gang.hosts if host in told},
        unanswered={host: unanswered[host] for host in gang.hosts if host in unanswered},
    )
