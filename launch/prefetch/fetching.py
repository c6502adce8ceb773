"""One checkpoint onto its hosts: the client where it is missing, shares from outside, then from host to host."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BringupError, Several, raise_all
from inventory.quoting import quote
from launch.prefetch import modelscope, push
from launch.prefetch.distribute import distribute
from launch.prefetch.job import WORK, FetchJob, fetched
from launch.prefetch.look import RATE, Seen
from launch.prefetch.plan import CheckpointPlan
from launch.prefetch.resolve import endpoint_of, failed_at, modelscope_endpoint
from launch.prefetch.shares import MOST_SOURCES, nowhere, shares_of
from launch.prefetch.source import DEFAULT_HUB, Fetch, Origin
from launch.prefetch.tools import client_folder, client_steps
from launch.spread.parcel import parcel_of
from launch.spread.spread import Delivery, Settings
from playbooks.apply import apply
from playbooks.plan import FORMAT_VERSION, Change, Plan, Step, changes_for
from playbooks.probes import PROBE_DEADLINE_S, probe_script, read_states

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.secret import Secret
    from inventory.transport.base import Transport
    from launch.prefetch.manifest import Manifest
    from launch.prefetch.progress import Progress
    from playbooks.lock import Owner

Look = Callable[["Fleet", CheckpointPlan], Mapping[str, "Seen | BringupError"]]
ASK_S = 60.0


@dataclass(slots=True)
class Fetching:
    """`owner.run` names the jobs; `limit`: bytes a second of every host. `errors`: of hosts, until others made up."""

    plan: CheckpointPlan
    limit: int | None
    fleet: Fleet
    progress: Progress
    owner: Owner
    errors: dict[str, BringupError] = field(default_factory=dict)
    rounds: int = 0

    def carry_out(
        self, token: Secret | None, facts: Mapping[str, HostFacts], addresses: Mapping[str, str], look: Look
    ) -> None:
        """Raises what went wrong on any host; what was verified meanwhile is kept."""
        plan = self.plan
        shares = {one.host: one.share for one in plan.hosts if one.share}
        tools = self._clients(tuple(shares), facts, addresses)
        if plan.fetch is Fetch.PUSH:
            shares = self._pushed(shares, token, self._seen(look))
        while shares:
            self._fetch(shares, token, tools)
            shares = self._left(shares, self._seen(look))
        cancelled = [one for one in self.errors.values() if one.id == "prefetch-cancelled"]
        raise_all(cancelled)
        seen = self._seen(look)
        try:
            self._spread(seen, addresses)
        except BringupError as error:
            self._failed(error)
        # What one host could not bring, others may have: it has everything then, and nothing is wrong any more.
        done = {host for host, one in self._seen(look).items() if one.is_complete(plan.manifest)} if self.errors else ()
        raise_all([one for host, one in self.errors.items() if host not in done])

    def _seen(self, look: Look) -> dict[str, Seen]:
        """What the hosts that answer have now; who does not is out, with the error that says so."""
        found = look(self.fleet, self.plan)
        self.errors |= {host: one for host, one in found.items() if isinstance(one, BringupError)}
        return {host: one for host, one in found.items() if not isinstance(one, BringupError)}

    def _clients(
        self, hosts: Sequence[str], facts: Mapping[str, HostFacts], addresses: Mapping[str, str]
    ) -> dict[str, str]:
        """The environment with the client on every host that fetches from a hub; installed where there is none."""
        if self.plan.source.origin is not Origin.HUB or self.plan.fetch is Fetch.PUSH:
            return {}
        known = {one.host: one.client for one in self.plan.hosts if one.host in hosts}
        lacking = [host for host in hosts if not known[host]]
        if lacking:
            steps = client_steps(self.fleet, lacking, facts, addresses)
            self._apply(steps, "client")
        return {host: known[host] or client_folder(self.fleet.hosts[host]) for host in hosts}

    def _fetch(self, shares: Mapping[str, Sequence[str]], token: Secret | None, tools: Mapping[str, str]) -> None:
        self.rounds += 1
        jobs = {host: self._job(host, tuple(paths), tools) for host, paths in shares.items()}
        if token and self.plan.source.origin is Origin.HUB:
            self._give_token(jobs, token)
        self.progress.begin({host: job.bytes for host, job in jobs.items()}, "fetching")
        try:
            self._apply({host: (fetched(job),) for host, job in jobs.items()}, f"fetch-{self.rounds}")
        except BringupError as error:
            self._failed(error)

    def _failed(self, error: BringupError) -> None:
        """The first error of a host is the one that counts."""
        several = error.errors if isinstance(error, Several) else (error,)
        self.errors = {one.host: one for one in several} | self.errors

    def _job(self, host: str, mine: tuple[str, ...], tools: Mapping[str, str]) -> FetchJob:
        plan, it = self.plan, self.fleet.hosts[host]
        tool = tools.get(host)
        endpoint = endpoint_of(it)
        made = FetchJob(
            run=f"{self.owner.run}-{self.rounds}",
            folder=self._folder(host),
            manifest=plan.manifest,
            origin="hub" if plan.source.origin is Origin.HUB else "pull",
            python=(f"{tool}/bin/python",) if tool else ("python3",),
            hf=(f"{tool}/bin/hf",) if tool else (),
            mine=mine,
            endpoint=endpoint.reveal() if endpoint else DEFAULT_HUB,
            proxy=it.proxy.reveal() if it.proxy else None,
            no_proxy=",".join(it.no_proxy),
            rate=self.limit,
            rate_file=f"{it.state_dir}/{RATE}",
        )
        if plan.fetch is Fetch.PUSH:
            return replace(made, origin="none", rate_file=None)
        if plan.source.origin is Origin.MODELSCOPE:
            return replace(made, urls=tuple(modelscope.urls_of(plan.manifest, endpoint=modelscope_endpoint()).items()))
        if plan.source.origin is Origin.FOLDER and plan.fetch is Fetch.SHARED:
            return replace(made, origin="link", at=plan.source.folder, trusted=True, rate_file=None)
        if plan.source.origin is Origin.FOLDER:
            urls = tuple((one.path, f"file://{plan.source.folder}/{one.path}") for one in plan.manifest.files)
            return replace(made, urls=urls)
        return made

    def _adopting(self, host: str, client: str, whole: Manifest) -> FetchJob:
        job = self._job(host, (), {host: client} if client else {})
        return replace(job, manifest=whole, run=f"{self.owner.run}-adopt", origin="none", mine=None, rate_file=None)

    def _give_token(self, jobs: Mapping[str, FetchJob], token: Secret) -> None:
        """A file for the login user alone, which the job removes at its end."""

        def one(transport: Transport) -> None:
            work = f"{jobs[transport.host].folder}/{WORK}"
            folder = quote(jobs[transport.host].folder)
            made = f"umask 022 && mkdir -p -- {folder} && umask 077 && mkdir -p -- {quote(work)}"
            transport.run(made, timeout=ASK_S)
            transport.put(token.reveal().encode(), f"{work}/token", mode=0o600)

        self.fleet.all(one, list(jobs))

    def _left(self, shares: Mapping[str, Sequence[str]], seen: Mapping[str, Seen]) -> dict[str, tuple[str, ...]]:
        """What a host that failed should have brought, for the others to bring; nothing when nobody can."""
        manifest = self.plan.manifest
        if self.plan.fetch is not Fetch.HUB_ONCE:
            return {}
        missing = nowhere(manifest, {host: one.present(manifest) for host, one in seen.items()})
        able = [host for host in shares if host not in self.errors]
        return shares_of(manifest, able[:MOST_SOURCES], missing) if missing and able else {}

    def _spread(self, seen: Mapping[str, Seen], addresses: Mapping[str, str]) -> None:
        manifest = self.plan.manifest
        present = {host: one.present(manifest) for host, one in seen.items()}
        whole_ones = [host for host, paths in present.items() if len(paths) == len(manifest.files)]
        self._adopt([host for host in whole_ones if seen[host].manifest is None], seen)
        lacking = [host for host, one in seen.items() if not one.is_complete(manifest) and host not in whole_ones]
        if not lacking or self.plan.fetch in {Fetch.HUB_EACH, Fetch.SHARED}:
            return
        missing = nowhere(manifest, present)
        if missing:
            if not self.errors:
                self.errors[lacking[0]] = failed_at(lacking[0], f"{len(missing)} files are on no host")
            return
        whole = sealed(manifest, seen)
        folders = {one.host: one.folder for one in self.plan.hosts}
        delivery = Delivery(
            parcel=parcel_of(whole.to_json()),
            folders=folders,
            addresses=addresses or dict.fromkeys(folders, "127.0.0.1"),
            sources=tuple(host for host, paths in present.items() if paths),
            targets=tuple(lacking),
            settings=Settings(rate_limit=self.limit),
        )
        self.progress.begin(dict.fromkeys(lacking, manifest.bytes), "spreading")
        distribute(self.fleet, delivery, owner=self.owner, report=self.progress.spread)
        self._adopt(lacking, seen)

    def _adopt(self, hosts: Sequence[str], seen: Mapping[str, Seen]) -> None:
        """Let hosts take down what they have verified, with its time of change, and seal what is not sealed.

        What is written to later is then seen without reading it.
        """
        able = [one for one in self.plan.hosts if one.host in hosts and (one.client or one.python)]
        if able:
            whole = sealed(self.plan.manifest, seen)
            self._apply({one.host: (fetched(self._adopting(one.host, one.client, whole)),) for one in able}, "adopt")

    def _pushed(
        self, shares: Mapping[str, Sequence[str]], token: Secret | None, seen: Mapping[str, Seen]
    ) -> dict[str, tuple[str, ...]]:
        """Everything that no host has goes to one of them; it takes and verifies it as its job."""
        for host, paths in shares.items():
            source = self._here(host, tuple(paths), token)
            there, sizes = seen[host].sent, self.plan.manifest.sizes
            wanted = {path: (sizes[path], there.get(path, 0)) for path in paths}
            to = push.Sending(source, self._folder(host), self.limit, self.progress)
            sending = partial(push.send, to=to, paths=wanted)
            self.fleet.on(host, sending)
        return {host: tuple(paths) for host, paths in shares.items()}

    def _here(self, host: str, paths: tuple[str, ...], token: Secret | None) -> Path:
        """The folder of this machine that has them: what was named, or what is fetched now."""
        source, manifest = self.plan.source, self.plan.manifest
        if source.folder:
            return Path(source.folder)
        at = push.store_folder(manifest, os.environ)
        is_hub = source.origin is Origin.HUB
        urls = {} if is_hub else modelscope.urls_of(manifest, endpoint=modelscope_endpoint())
        job = replace(self._job(host, paths, {}), folder=str(at), origin="hub" if is_hub else "pull")
        push.fetched_here(replace(job, urls=tuple(urls.items())), token, self.progress)
        return at

    def _folder(self, host: str) -> str:
        return next(one.folder for one in self.plan.hosts if one.host == host)

    def _apply(self, steps: Mapping[str, Sequence[Step]], name: str) -> None:
        """Probe and apply the steps of every host, by jobs of this run."""
        changes: list[Change] = []
        states = self.fleet.all(lambda transport: _states(transport, steps[transport.host]), list(steps))
        for host, ours in steps.items():
            changes += changes_for(host, ours, states[host])
        plan = Plan(FORMAT_VERSION, self.plan.manifest.repo, "", "", tuple(steps), (), tuple(changes))
        run = f"{self.owner.run}-{name}"
        apply(plan, self.fleet, run=run, state_dirs=self.fleet.state_dirs, progress=self.progress, owner=self.owner)


def _states(transport: Transport, steps: Sequence[Step]) -> dict[str, str]:
    return read_states(steps, transport.run(probe_script(steps), timeout=PROBE_DEADLINE_S).text)


def sealed(manifest: Manifest, seen: Mapping[str, Seen]) -> Manifest:
    """With the sha256 of every file, as the hosts that verified it tell. All of them must tell the same."""
    sums: dict[str, str] = {}
    for one in seen.values():
        for path in one.present(manifest):
            found = one.sum_of(path)
            if found and sums.setdefault(path, found) != found:
                raise failed_at(one.host, f"{path} has another sum than on another host")
    return manifest.with_sums(sums)
