"""What a prefetch would do on every host, in bytes and seconds. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inventory.errors import BringupError, CheckFailed
from launch.prefetch.job import KEEP_FREE, REFUSALS
from launch.prefetch.look import Seen
from launch.prefetch.manifest import Manifest
from launch.prefetch.programs.naming import CERTIFICATES, named
from launch.prefetch.shares import MOST_SOURCES, nowhere, shares_of
from launch.prefetch.source import Fetch, Origin, Source

LOAD_STRATEGY = "prefetch"
"""Of safetensors, where ranks read over a network: whole files, in order."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """Bytes that are there (verified), that are to come, and that are free before and after; None: not told.

    `share`: paths that this host brings from outside itself. `partly`: bytes of files that are not whole yet.
    """

    host: str
    folder: str
    there: int
    to_come: int
    free: int | None
    after: int | None
    share: tuple[str, ...] = ()
    partly: int = 0
    client: str = ""  # an environment with the hub's client that it has; empty: none
    python: bool = True  # its own will run the programs


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """`seconds`: of what comes from outside, at the slowest host's rate of the last time; None: nobody knows.

    `rate`: bytes a second that it was reckoned with. `notes`: what an operator should know.
    """

    manifest: Manifest
    fetch: Fetch
    source: Source
    hosts: tuple[HostPlan, ...]
    seconds: float | None = None
    rate: int | None = None
    load_strategy: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def pending(self) -> bool:
        return any(one.to_come for one in self.hosts) or bool(self.unsealed)

    unsealed: tuple[str, ...] = ()  # hosts that have all files and no manifest

    @property
    def from_outside(self) -> int:
        sizes = self.manifest.sizes
        return sum(sizes[path] for one in self.hosts for path in one.share)


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked for one checkpoint. `reaching`: hosts that may fetch from outside, in the order of preference."""

    manifest: Manifest
    fetch: Fetch
    source: Source
    folders: Mapping[str, str]
    reaching: tuple[str, ...]
    limit: int | None = None
    clients: Mapping[str, str] = field(default_factory=dict)


def planned(asked: Asking, seen: Mapping[str, Seen]) -> CheckpointPlan:
    """Raises `CheckFailed` where a disk is too small, or nobody can fetch what no host has."""
    manifest = asked.manifest
    present = {host: one.present(manifest) for host, one in seen.items()}
    missing = nowhere(manifest, present)
    shares = _shares(asked, seen, missing)
    hosts = tuple(_host(asked, seen[host], present[host], shares.get(host, ())) for host in asked.folders)
    rate = _rate(asked, [seen[host] for host in shares])
    outside = [sum(manifest.sizes[path] for path in share) for share in shares.values()]
    return CheckpointPlan(
        manifest,
        asked.fetch,
        asked.source,
        hosts,
        seconds=max(outside) / rate if rate and outside else None,
        rate=rate,
        load_strategy=LOAD_STRATEGY if asked.fetch is Fetch.SHARED else None,
        notes=tuple(_notes(seen)),
        unsealed=tuple(h for h, one in seen.items() if len(present[h]) == len(manifest.files) and one.manifest is None),
    )


def _shares(asked: Asking, seen: Mapping[str, Seen], missing: frozenset[str]) -> dict[str, tuple[str, ...]]:
    manifest = asked.manifest
    if asked.fetch is Fetch.HUB_EACH:
        of_each = {h: frozenset(manifest.sizes) - seen[h].present(manifest) for h in asked.folders}
        return {host: tuple(sorted(paths)) for host, paths in of_each.items() if paths}
    if asked.fetch is Fetch.SHARED and asked.source.origin is Origin.FOLDER:
        _refuse_not_shared(asked, seen)
        pending = [host for host in asked.folders if not seen[host].is_complete(manifest)]
        return {host: tuple(sorted(manifest.sizes)) for host in pending}
    if asked.fetch is Fetch.PUSH:
        first = max(asked.folders, key=lambda host: len(seen[host].present(manifest)))
        return {first: tuple(sorted(missing))} if missing else {}
    if missing and not asked.reaching:
        raise _nobody(asked, seen)
    most = 1 if asked.fetch is Fetch.SHARED else MOST_SOURCES
    return shares_of(manifest, asked.reaching[:most], missing) if missing else {}


def _refuse_not_shared(asked: Asking, seen: Mapping[str, Seen]) -> None:
    without = [host for host, one in seen.items() if one.has_source is False]
    if without:
        raise CheckFailed(
            "the folder is not on all hosts",
            id="folder-unreadable",
            observed=f"{asked.source.folder} is not there on {', '.join(without)}",
            required="a file system that all hosts have mounted at the same place",
            next_command=f"on {without[0]}: findmnt -T {asked.source.folder}; or --fetch hub-once with the same --from",
        )


def _nobody(asked: Asking, seen: Mapping[str, Seen]) -> BringupError:
    reasons = "; ".join(f"{host}: {one.why_not or 'internet: false in the inventory'}" for host, one in seen.items())
    where = asked.source.folder or asked.manifest.source
    told = {host: named(one.why_not)[0] for host, one in seen.items() if one.why_not}
    distrusting = next((host for host in sorted(told, key=told.__getitem__) if told[host] in CERTIFICATES), None)
    if distrusting:  # it does reach the hub: a mirror or a proxy is no way out of that
        refusal = next(one for one in REFUSALS if one.id == told[distrusting])
        return refusal.error(CheckFailed, distrusting, reasons[:300])
    return CheckFailed(
        f"no host reaches {where}, and none has all of {asked.manifest.repo}",
        id="hub-unreachable",
        observed=reasons[:300],
        required="one host with a way out, a mirror (mirrors: hub:) or a proxy (proxy:) in the inventory",
        next_command="the same command with --fetch push: this machine fetches, and gives it to one of them",
    )


def _host(asked: Asking, seen: Seen, present: frozenset[str], share: tuple[str, ...]) -> HostPlan:
    sizes = asked.manifest.sizes
    there = sum(sizes[path] for path in present)
    linked = asked.fetch is Fetch.SHARED and asked.source.origin is Origin.FOLDER
    to_come = 0 if linked and seen.is_complete(asked.manifest) else asked.manifest.bytes - there
    writes = 0 if linked else to_come
    after = None if seen.free is None else seen.free - max(0, writes - seen.parts - sum(seen.sent.values()))
    if after is not None and writes and after < KEEP_FREE:
        raise CheckFailed(
            "the disk has no room for the weights; nothing was changed",
            id="disk-full",
            observed=f"{(seen.free or 0) / 1e9:.1f} GB free at {asked.folders[seen.host]}",
            required=f"{writes / 1e9:.1f} GB still to come, and {KEEP_FREE / 1e9:.1f} GB left free",
            next_command=f"invoke weights.list --hosts {seen.host}; invoke weights.gc --hosts {seen.host}",
            host=seen.host,
        )
    client = asked.clients.get(seen.host, "")
    if share and not (client or seen.python or _client_comes(asked)):
        raise _no_python(seen.host)
    partly = seen.parts + sum(seen.sent.values())
    folder = asked.folders[seen.host]
    return HostPlan(seen.host, folder, there, to_come, seen.free, after, share, partly, client, seen.python)


def _client_comes(asked: Asking) -> bool:
    """Whether an environment is installed for the fetch, which has a Python of its own."""
    return asked.source.origin is Origin.HUB and asked.fetch is not Fetch.PUSH


def _no_python(host: str) -> BringupError:
    return CheckFailed(
        "the host has no Python that can take files",
        id="spread-python",
        observed="no python3 of 3.9 or later, and no environment with the hub's client",
        required="python3, 3.9 or later",
        next_command=f"install python3 on {host}, or the engine first: invoke install",
        host=host,
    )


def _rate(asked: Asking, fetching: Sequence[Seen]) -> int | None:
    """The slowest measured one of who fetches, no more than the limit; None where one of them has never fetched."""
    told = [one.rate for one in fetching]
    if not told or any(rate is None or rate <= 0 for rate in told) or asked.fetch is Fetch.PUSH:
        return None
    return min([rate for rate in told if rate] + ([asked.limit] if asked.limit else []))


def _notes(seen: Mapping[str, Seen]) -> Iterator[str]:
    for kind in sorted({one.network for one in seen.values() if one.network}):
        hosts = ", ".join(host for host, one in seen.items() if one.network == kind)
        yield (
            f"{hosts}: weights would lie on {kind}; every rank reads all of it over the network: a local disk as "
            f"state_dir, or --set safetensors-load-strategy={LOAD_STRATEGY}"
        )
