"""What deployments there are on hosts, as the hosts themselves tell: nothing is kept on the control machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.errors import BadInput, BringupError, NotServing, raise_all
from inventory.quoting import quote
from inventory.ranges import fold
from inventory.transport.exchange import in_time
from launch.running.supervise import Told, read_told, tell_script

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.building.generation import Generation

DEADLINE_S = 15.0
ALIVE = frozenset({"running", "partial"})


@dataclass(frozen=True, slots=True)
class Deployment:
    """One deployment over all hosts that were asked. `told` has an entry per host that answered and knows it.

    `strays` are hosts outside the gang on which ranks of this name run: left over from another layout.
    """

    gang: Generation
    told: Mapping[str, Told]
    unanswered: Mapping[str, BringupError]
    strays: Mapping[str, Told] = field(default_factory=dict)

    @property
    def switched_at(self) -> int:
        """When this became what its hosts run: seconds of Unix time; 0: no host tells."""
        return max((one.since or 0 for one in self.told.values()), default=0)

    @property
    def missing(self) -> tuple[str, ...]:
        """Hosts of the gang that answered but do not know this generation, or were not asked."""
        return tuple(host for host in self.gang.hosts if host not in self.told and host not in self.unanswered)


@dataclass(frozen=True, slots=True)
class Survey:
    """All deployments by name, and the hosts that did not answer. `unreadable`: hosts by name without a good record.

    `hosts`: all that were asked.
    """

    deployments: Mapping[str, Deployment]
    unanswered: Mapping[str, BringupError]
    unreadable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()


def survey(fleet: Fleet, *, within_s: float | None = None) -> Survey:
    """Ask every host which deployments it has; one that takes longer than `within_s` is given up."""

    def one(transport: Transport) -> tuple[Told, ...]:
        script = tell_script(state_dir=fleet.state_dirs[transport.host])
        return read_told(in_time(transport.run(script, timeout=DEADLINE_S), transport.host).text, transport.host)

    outcomes = fleet.each(one, within_s=within_s)
    unanswered = {host: error for host, error in outcomes.items() if isinstance(error, BringupError)}
    told = {host: found for host, found in outcomes.items() if not isinstance(found, BringupError)}
    found = united(told, unanswered)
    names = {one.name for ours in told.values() for one in ours} - found.keys()
    unreadable = {name: tuple(h for h, ours in told.items() if any(o.name == name for o in ours)) for name in names}
    return Survey(found, unanswered, unreadable, tuple(fleet.hosts))


def the_one(found: Survey, name: str | None, *, latest: bool = False) -> Deployment:
    """The deployment called `name`, or the only one; `latest`: the one that was switched last, if there are several.

    Raises `BadInput` when that does not name one.
    """
    if name and name in found.deployments:
        return found.deployments[name]
    if latest and not name and found.deployments:
        return max(found.deployments.values(), key=lambda one: one.switched_at)
    if not name and len(found.deployments) == 1:
        return next(iter(found.deployments.values()))
    known = ", ".join(found.deployments) or "none"
    if found.unanswered and (name or not found.deployments):
        raise_all(list(found.unanswered.values()))  # a silent host may be the one that knows
    for unreadable, hosts in found.unreadable.items():
        if unreadable == name or not (name or found.deployments):
            raise _unreadable(unreadable, hosts)
    if not found.deployments:
        raise NotServing(
            "there is no deployment on these hosts",
            id="no-deployment",
            observed="no host has one" if not name else f"no host has {name}",
            required="a deployment",
            next_command=_first_deploy(found.hosts),
        )
    raise BadInput(
        f"no deployment is called {name}" if name else "there are several deployments",
        id="deployment-name",
        observed=known,
        required="--name with one of them",
        next_command=f"the same command with --name {next(iter(found.deployments))}",
    )


def _first_deploy(hosts: tuple[str, ...]) -> str:
    """The embedded model runs on this machine; what others are for is the operator's to say."""
    if hosts in {(), ("local",)}:
        return "invoke deploy --model tiny-dense --hosts local"
    return f"invoke deploy --model MODEL --hosts {quote(fold(hosts))}"


def _unreadable(name: str, hosts: tuple[str, ...]) -> BadInput:
    return BadInput(
        f"no host has a record of {name} that can be read",
        id="generation-unreadable",
        observed=f"deployments/{name}/current/generation.json on {', '.join(hosts)}",
        required="the record as a deploy wrote it, on one host of the group at least",
        next_command=f"the deploy command that made it, again with --name {name}: it writes the record anew",
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
        strays={host: one for host, one in told.items() if host not in gang.hosts and one.ranks.state in ALIVE},
    )
