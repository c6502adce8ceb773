"""Bring the caches of a start to all hosts of its gang: listed, merged, given from host to host, verified, put aside.

Every source gives its own ranks' files, so that the hosts send about the same. Nothing is put where ranks look while
they run: the next start takes what all hosts had verified (`take.sh`). Whatever fails leaves every host as it was, and
the deployment serves all the same.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from inventory.errors import BringupError, ChangeFailed
from inventory.quoting import quote
from inventory.transport.exchange import in_time
from launch.caches import scripts
from launch.caches.merge import CacheFile, CacheSet, Rank, lacking, merged, rank_of, read_listing
from launch.caches.scripts import SHARE, Place
from launch.console.sizes import size
from playbooks.ship.scripts import read_served

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport

T = TypeVar("T")
ASK_S = 60.0
LIST_S = 600.0
MOST_TOLD = 2  # folders: those of earlier layouts lie there too
SLOWEST = 5e6  # bytes a second of disk and network; what is slower is given up


@dataclass(frozen=True, slots=True)
class Spread:
    """What came of it. `given`: bytes by host that it was given; none where it had everything."""

    wanted: CacheSet
    given: Mapping[str, int]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What an operator is told."""
        files, most = len(self.wanted.files), size(self.wanted.bytes)
        if not files:
            told = ["nothing was compiled that another start could use"]
        elif not self.given:
            told = [f"every host has the caches of all ranks: {files} files, {most}"]
        else:
            parts = ", ".join(f"{host} {size(count)}" for host, count in self.given.items())
            told = [f"caches of all ranks ({files} files, {most}) are ready for the next start; given: {parts}"]
        uneven = self.wanted.uneven
        told += [_uneven(folder, ranks) for folder, ranks in uneven[:MOST_TOLD]]
        if len(uneven) > MOST_TOLD:
            told.append(f"{len(uneven) - MOST_TOLD} more folders lack ranks of this layout")
        return tuple(told)


def _uneven(folder: str, ranks: tuple[Rank, ...]) -> str:
    named = ", ".join(f"rank {rank} of {dp}" for rank, dp in ranks[:3])
    return f"{folder} stays where it is: {len(ranks)} rank(s) have nothing in it ({named})"


def spread(fleet: Fleet, places: Sequence[Place], owners: Mapping[Rank, str]) -> Spread:
    """Give every host of `places`, all of one stamp, what it lacks of all. Raises what kept it from being done."""
    listings = _listed(fleet, places)
    wanted = merged(listings, owners)
    needs = {place.host: lacking(wanted, place.host, listings[place.host], owners) for place in places}
    given = {host: sum(one.size for one in files) for host, files in needs.items() if files}
    if given:
        try:
            _give(fleet, places, wanted, needs)
        finally:
            fleet.each(_each(places, scripts.end, ASK_S), [place.host for place in places])
    return Spread(wanted, given)


def _listed(fleet: Fleet, places: Sequence[Place]) -> dict[str, tuple[CacheFile, ...]]:
    answers = _all(fleet, places, _each(places, scripts.list_script, LIST_S), "the caches cannot be listed")
    found = {}
    for place in places:
        try:
            found[place.host] = read_listing(answers[place.host].text)
        except ValueError as error:
            raise _failed(place.host, "the caches cannot be listed", str(error)) from None
    return found


def _give(fleet: Fleet, places: Sequence[Place], wanted: CacheSet, needs: Mapping[str, Sequence[CacheFile]]) -> None:
    needed = {one.path for files in needs.values() for one in files}
    shares = {host: tuple(one for one in files if one.path in needed) for host, files in wanted.sources.items()}
    shares = {host: files for host, files in shares.items() if files}
    comes = {place.host: _comes(place, shares, needs[place.host]) for place in places}
    room = {host: sum(one.size for one in shares.get(host, ())) + 2 * _sum(shares, comes[host]) for host in comes}
    begin = {place.host: scripts.begin_script(place, room[place.host]) for place in places}
    _all(fleet, places, lambda transport: transport.run(begin[transport.host], timeout=ASK_S), "caches have no room")
    urls = _lent(fleet, [place for place in places if place.host in shares], shares)
    numbers = {host: number for number, host in enumerate(shares)}
    by_host = {place.host: place for place in places}

    def take(transport: Transport) -> Completed:
        """Each begins with another source, so that all give at once."""
        place = by_host[transport.host]
        own = [*comes[transport.host]]
        first = numbers.get(transport.host, 0) % max(len(own), 1)
        for source in (*own[first:], *own[:first]):
            script = scripts.fetch_script(place, numbers[source], urls[source])
            done = transport.run(script, timeout=ASK_S + sum(one.size for one in shares[source]) / SLOWEST)
            if done.exit_status != 0:
                return done
        return _placed(transport, place, wanted, [(place.of(numbers[one]), shares[one]) for one in own], needs)

    _all(fleet, places, take, "caches did not come")
    _all(fleet, places, _each(places, scripts.stage_script, ASK_S), "caches could not be put aside")


def _comes(place: Place, shares: Mapping[str, Sequence[CacheFile]], needs: Sequence[CacheFile]) -> list[str]:
    """The hosts that have something for this one."""
    paths = {one.path for one in needs}
    return [host for host, files in shares.items() if host != place.host and any(one.path in paths for one in files)]


def _sum(shares: Mapping[str, Sequence[CacheFile]], hosts: Sequence[str]) -> int:
    return sum(one.size for host in hosts for one in shares[host])


def _lent(fleet: Fleet, places: Sequence[Place], shares: Mapping[str, Sequence[CacheFile]]) -> dict[str, str]:
    """Pack what each source gives, and lend it; the addresses, with a secret in each."""
    by_host = {place.host: place for place in places}
    secret = {place.host: secrets.token_urlsafe(24) for place in places}

    def one(transport: Transport) -> Completed:
        place, files = by_host[transport.host], shares[transport.host]
        rows = json.dumps([file.row() for file in files])
        transport.put(rows.encode(), f"{place.share}/wanted.json")
        done = transport.run(scripts.share_script(place), timeout=ASK_S + sum(file.size for file in files) / SLOWEST)
        return done if done.exit_status else transport.run(scripts.serve(place, secret[place.host]), timeout=ASK_S)

    urls = {}
    for host, done in _all(fleet, places, one, "caches cannot be given").items():
        served = read_served(done.text)
        if not served:
            raise _failed(host, "caches cannot be given", done.text.strip()[-200:] or "no address could be bound")
        address, port = served[0]
        urls[host] = f"http://{f'[{address}]' if ':' in address else address}:{port}/{secret[host]}/"
    return urls


def _placed(
    transport: Transport,
    place: Place,
    wanted: CacheSet,
    came: Sequence[tuple[str, Sequence[CacheFile]]],
    needs: Mapping[str, Sequence[CacheFile]],
) -> Completed:
    own = {one.path for one in needs[place.host]}
    document = [{"share": f"{folder}/{SHARE}", "files": [_row(one, own) for one in files]} for folder, files in came]
    transport.run(f"mkdir -p -- {quote(place.incoming)}\n", timeout=ASK_S)
    transport.put(json.dumps(document).encode(), f"{place.incoming}/wanted.json")
    told = {"format_version": 1, "set": wanted.digest, "files": len(wanted.files), "bytes": wanted.bytes}
    ranks = sorted({found[1] for one in wanted.files if (found := rank_of(one.path))})
    transport.put(json.dumps({**told, "ranks": ranks}).encode(), f"{place.incoming}/set.json", mode=0o644)
    return transport.run(scripts.place_script(place), timeout=ASK_S + wanted.bytes / SLOWEST)


def _row(one: CacheFile, own: set[str]) -> list[object]:
    """A file of the share that this host has is passed over there."""
    row = one.row()
    return row if one.path in own else [None, *row[1:]]


def _each(
    places: Sequence[Place], script: Callable[[Place], str], deadline_s: float
) -> Callable[[Transport], Completed]:
    by_host = {place.host: place for place in places}
    return partial(_run, by_host=by_host, script=script, deadline_s=deadline_s)


def _run(
    transport: Transport, by_host: Mapping[str, Place], script: Callable[[Place], str], deadline_s: float
) -> Completed:
    return transport.run(script(by_host[transport.host]), timeout=deadline_s)


def _all(
    fleet: Fleet, places: Sequence[Place], one: Callable[[Transport], Completed], message: str
) -> dict[str, Completed]:
    """Run it on all hosts at once. Raises the first failure: what is not whole everywhere is nowhere."""
    outcomes = fleet.each(one, [place.host for place in places])
    answers = {}
    for host, outcome in outcomes.items():
        if isinstance(outcome, BringupError):
            raise outcome
        if in_time(outcome, host).exit_status != 0:
            raise _failed(host, message, outcome.stderr.decode(errors="replace").strip()[-300:])
        answers[host] = outcome
    return answers


def _failed(host: str, message: str, observed: str) -> ChangeFailed:
    return ChangeFailed(
        f"{message}; the ranks serve all the same, and the next start compiles what it lacks",
        id="caches-not-spread",
        observed=observed or "no words",
        required="every file of every rank, with its sum, on every host, or nothing",
        next_command=f"on {host}: what is told above; the next deploy or restart tries again",
        host=host,
    )
