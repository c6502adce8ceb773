"""One prefetch: look, resolve, plan; then lock, fetch once, spread, and look again. Read this first.

`prepare` changes nothing and ends in a plan for every checkpoint. `carry_out` does it: hosts fetch their shares as
detached jobs, what they verified goes from host to host, and a host counts as done when it has read every file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError, CheckFailed, raise_all
from launch.placing.addresses import address_of
from launch.prefetch.fetching import Fetching
from launch.prefetch.look import Asked, Seen, look
from launch.prefetch.plan import Asking, CheckpointPlan, planned
from launch.prefetch.resolve import endpoint_of, modelscope_endpoint, resolved
from launch.prefetch.source import DEFAULT_HUB, Fetch, Origin, Source
from launch.prefetch.token import hub_token
from launch.prefetch.tools import client_folder, engine_environment
from launch.prefetch.wanted import WantedOfLaunch, WantedWeights, wanted_of

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.schema import Host
    from inventory.secret import Secret
    from launch.catalogue.find import Found
    from launch.console.report import Report
    from launch.prefetch.progress import Progress
    from launch.request import Request
    from playbooks.lock import Owner


@dataclass(frozen=True, slots=True)
class Options:
    """How it is fetched; `limit`: bytes a second of every host."""

    fetch: Fetch = Fetch.HUB_ONCE
    source: Source = field(default_factory=Source)
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """The plans, and what they were made of. `made`: nothing is fetched, the deploy makes the weights."""

    wanted: WantedOfLaunch
    options: Options
    plans: tuple[CheckpointPlan, ...]
    facts: Mapping[str, HostFacts]
    token: Secret | None
    pinned_here: tuple[str, ...] = ()  # --revision that later commands need: nothing else pins it

    @property
    def pending(self) -> bool:
        return any(one.pending for one in self.plans)


def prepare(
    found: Found, request: Request, fleet: Fleet, facts: Mapping[str, HostFacts], options: Options, report: Report
) -> Prepared:
    """Look and plan. Raises what forbids it; nothing is changed."""
    wanted = wanted_of(found, request, tuple(fleet.hosts.values()), facts)
    return prepared_of(wanted, fleet, facts, options, report)


def prepared_of(
    wanted: WantedOfLaunch, fleet: Fleet, facts: Mapping[str, HostFacts], options: Options, report: Report
) -> Prepared:
    token = hub_token() if options.source.origin is Origin.HUB else None
    plans, pinned = [], []
    for one in wanted.weights:
        plan = _plan(one, wanted, fleet, options, token)
        plans.append(plan)
        if one.commit is None:
            pinned.append(plan.manifest.commit)
            report.say(f"{one.repo}: no commit is pinned; taken is {plan.manifest.commit}", style="yellow")
    return Prepared(wanted, options, tuple(plans), facts, token, tuple(pinned))


def _plan(
    one: WantedWeights, wanted: WantedOfLaunch, fleet: Fleet, options: Options, token: Secret | None
) -> CheckpointPlan:
    hosts = {host.name: host for host in wanted.choice.hosts}
    seen: Mapping[str, Seen] = {}
    if one.commit:
        seen = look(fleet, _asked(one, one.commit, wanted, options))
    manifest = resolved(one, options.source, options.fetch, fleet, seen, token)
    if not seen:
        seen = look(fleet, _asked(one, manifest.commit, wanted, options))
    asking = Asking(
        manifest,
        options.fetch,
        options.source,
        {name: one.folder(host, manifest.commit) for name, host in hosts.items()},
        tuple(name for name in hosts if _may_fetch(hosts[name], seen[name], options)),
        options.limit,
        {name: seen[name].tool or "" for name in hosts},
    )
    return planned(asking, seen)


def _may_fetch(host: Host, seen: Seen, options: Options) -> bool:
    if options.source.origin is Origin.FOLDER:
        return bool(seen.has_source)
    return host.internet is not False and seen.reaches is not False


def _asked(one: WantedWeights, commit: str, wanted: WantedOfLaunch, options: Options) -> dict[str, Asked]:
    engine = engine_environment(wanted.choice)
    return {host.name: _asked_of(host, one.folder(host, commit), engine, options) for host in wanted.choice.hosts}


def _asked_of(host: Host, folder: str, engine: str | None, options: Options) -> Asked:
    tools = [client_folder(host)]
    if engine:
        tools.insert(0, f"{host.state_dir}/envs/{engine}")
    asks = host.internet is not False and options.fetch is not Fetch.PUSH and options.source.origin is not Origin.FOLDER
    at = options.source.folder if options.fetch is not Fetch.PUSH else None
    proxy = host.proxy.reveal() if host.proxy else None
    return Asked(host.state_dir, folder, tuple(tools), _outside(host, options) if asks else None, proxy, at)


def _outside(host: Host, options: Options) -> str:
    if options.source.origin is Origin.MODELSCOPE:
        return modelscope_endpoint()
    endpoint = endpoint_of(host)
    return endpoint.reveal() if endpoint else DEFAULT_HUB


def addresses_of(hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> dict[str, str]:
    """Where hosts give files to each other: the fabric or LAN address, as a launch takes it."""
    if len(hosts) < 2:
        return {}
    return {one.name: address_of(one, [peer for peer in hosts if peer is not one], facts)[0] for one in hosts}


def carry_out(
    prepared: Prepared, fleet: Fleet, report: Report, progress: Progress, owner: Owner, again: Callable[[], Prepared]
) -> None:
    """Do it. The caller holds the locks of all hosts. Raises what is missing where, and why."""
    from launch.prefetch.distribute import end_spreads
    from launch.reattach import jobs_finished

    end_spreads(fleet)
    if jobs_finished(fleet, report):
        prepared = again()
    for number, plan in enumerate(prepared.plans):
        if plan.pending:
            work = Fetching(plan, prepared.options.limit, fleet, progress, replace(owner, run=f"{owner.run}-{number}"))
            addresses = addresses_of(prepared.wanted.choice.hosts, prepared.facts)
            work.carry_out(prepared.token, prepared.facts, addresses, _look_again(prepared))
    again_planned = again()
    if again_planned.pending:
        raise_all(_unfinished(again_planned))


def _look_again(prepared: Prepared) -> Callable[[Fleet, CheckpointPlan], Mapping[str, Seen | BringupError]]:
    from launch.prefetch.look import look_each

    def ask(fleet: Fleet, plan: CheckpointPlan) -> Mapping[str, Seen | BringupError]:
        engine = engine_environment(prepared.wanted.choice)
        quiet = replace(prepared.options, source=Source(), fetch=Fetch.PUSH)  # nobody outside is tried again
        asked = {one.host: _asked_of(fleet.hosts[one.host], one.folder, engine, quiet) for one in plan.hosts}
        return look_each(fleet, asked)

    return ask


def _unfinished(prepared: Prepared) -> list[BringupError]:
    errors: Sequence[BringupError] = [
        CheckFailed(
            "weights are not complete although everything was done",
            id="weights-incomplete",
            observed=f"{one.to_come / 1e9:.2f} GB of {plan.manifest.repo} are missing in {one.folder}",
            required="every file of the manifest with its sum",
            next_command="type the same command again: only what is missing is fetched",
            host=one.host,
        )
        for plan in prepared.plans
        for one in plan.hosts
        if one.to_come
    ]
    return list(errors)
