"""One spread from here: the program is started on every host, told the ring, watched to the end, and ended.

This machine carries no byte of the folder and is not needed while it goes: killed or interrupted, it leaves jobs that
go on, and the same call later takes them over where they are.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.transport.exchange import in_time
from launch.spread import scripts
from launch.spread.laggard import Laggards
from launch.spread.outcome import Outcome, outcome_of, refusal, unanswered
from launch.spread.plainly import Plainly
from launch.spread.ring import ring_of
from launch.spread.scripts import NO_PYTHON, Post
from launch.spread.told import Told, read_told
from playbooks.joblist import about

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport
    from launch.spread.parcel import Parcel
    from playbooks.lock import Owner

ASK_S = 60.0
LOOK_S = 1.0
LOOK_DEADLINE_S = 20.0
LANES = 4  # files at once on each host; the same number everywhere, so that neighbours work at the same files
UNANSWERED_S = 60.0  # then a host is given up that does not answer, when all others are done
RETRY_UNANSWERED_S = 10.0
RESTARTS = 5
PHASE = "spread"

Report = Callable[[Mapping[str, Told]], None]
"""Called about once a second with how far every host is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`rate_limit`: bytes a second for each host and direction. `patience_s`: without a byte, then a host gives up.

    `idle_s`: how long a host that is done goes on lending when nobody asks and nobody ends it.
    """

    rate_limit: int | None = None
    lanes: int = LANES
    patience_s: float = 60.0
    idle_s: float = 300.0


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Delivery:
    """What goes from which hosts to which.

    `folders`: where it lies, an absolute path for each host. `addresses`: the IP address at which each host lends and
    from which it fetches. A source may have a part of the files; a host may be source and target. A host that has the
    folder by an earlier spread lends too: it is a source.
    """

    parcel: Parcel
    folders: Mapping[str, str]
    addresses: Mapping[str, str]
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    settings: Settings = DEFAULTS


@dataclass(slots=True)
class _Member:
    """One host while it takes part. `error` set or `told.sealed`: it is done."""

    post: Post
    told: Told = field(default_factory=Told)
    error: BringupError | None = None
    starts: int = 0
    seconds: float = 0.0  # when it was done
    silent_since: float | None = None
    asked_at: float = 0.0


def spread(
    fleet: Fleet, delivery: Delivery, *, owner: Owner | None = None, report: Report = lambda _: None
) -> dict[str, Outcome]:
    """Make the delivery, and return how it ended on every host of it. The caller holds the hosts' locks.

    Ctrl-C leaves the hosts to themselves: they go on, and `cancel` ends them.
    """
    return _Spread(fleet, delivery, owner, report).run()


class _Spread:
    def __init__(self, fleet: Fleet, delivery: Delivery, owner: Owner | None, report: Report) -> None:
        self._fleet, self._delivery, self._owner, self._report = fleet, delivery, owner, report
        self._parcel, self._settings = delivery.parcel, delivery.settings
        self._ring = list(ring_of(delivery.sources, delivery.targets))
        self._laggards = Laggards()
        self._secret = secrets.token_urlsafe(32)
        self._run = secrets.token_hex(4)
        self._began = time.monotonic()
        self._members = {host: _Member(post_of(host, fleet, delivery)) for host in self._ring}

    def run(self) -> dict[str, Outcome]:
        self._start(self._ring)
        while self._has_source() and not self._is_over():
            time.sleep(LOOK_S)
            self._look()
            self._report({host: one.told for host, one in self._members.items()})
            if lost := self._lost():
                self._start(lost)
            self._put_last()
        self._plainly()
        self._end()
        self._name_what_is_left()
        return {host: outcome_of(host, one.told, one.seconds, one.error) for host, one in self._members.items()}

    def _start(self, hosts: Sequence[str]) -> None:
        """Start the program on `hosts` and tell everybody where it listens."""
        outcomes = self._fleet.each(self._begin, hosts)
        for host, outcome in outcomes.items():
            self._heard(host, outcome)
        self._tell_ring()

    def _tell_ring(self) -> None:
        members = {host: self._members[host] for host in self._ring}
        ring = [
            (host, one.post.address, one.told.port)
            for host, one in members.items()
            if one.told.port and one.told.alive and one.error is None
        ]

        def tell(transport: Transport) -> None:
            transport.run(scripts.ring_script(self._members[transport.host].post, ring), timeout=ASK_S)

        self._fleet.each(tell, [host for host, *_ in ring if members[host].silent_since is None])

    def _put_last(self) -> None:
        """Somebody whose link is slow goes to the end of the ring."""
        taking_part = [host for host in self._ring if self._members[host].error is None]
        verified = {host: self._members[host].told.verified for host in taking_part}
        slow = self._laggards.look(time.monotonic(), verified, taking_part)
        if slow is not None:
            self._ring.remove(slow)
            self._ring.append(slow)
            self._tell_ring()

    def _begin(self, transport: Transport) -> Told | BringupError:
        member = self._members[transport.host]
        member.starts += 1
        if member.starts > RESTARTS:
            return refusal("spread-lost", f"{RESTARTS} times", transport.host, member.post.folder)
        job = f"spread-{self._run}-{member.starts}"
        text = scripts.begin_script(member.post, self._plan(member.post), self._secret, job, self._about())
        return self._begun(transport.host, in_time(transport.run(text, timeout=ASK_S), transport.host))

    def _begun(self, host: str, answer: Completed) -> Told | BringupError:
        folder = self._members[host].post.folder
        if answer.text.strip() == NO_PYTHON:
            return refusal("spread-python", "no python3 of 3.8 or later, and no environment", host, folder)
        told = read_told(answer.text)
        if answer.exit_status != 0 or not (told.port or told.failed):
            said = answer.stderr.decode(errors="replace").strip()[-300:] or f"exit status {answer.exit_status}"
            return refusal("spread-program", said, host, folder)
        return told

    def _plan(self, post: Post) -> dict[str, object]:
        return {
            "me": post.host,
            "folder": post.folder,
            "address": post.address,
            "parcel": post.parcel,
            "manifest": self._parcel.manifest,
            "manifest_name": self._parcel.manifest_name,
            "files": [(one.path, one.size, one.sha256) for one in self._parcel.files],
            "lends_early": post.host in self._delivery.sources,
            "rate": self._settings.rate_limit,
            "lanes": self._settings.lanes,
            "patience_s": self._settings.patience_s,
            "idle_s": self._settings.idle_s,
        }

    def _about(self) -> str:
        size = f"{len(self._parcel.files)} files, {self._parcel.size / 1e9:.1f} GB"
        return about(self._owner, PHASE, [f"spread {size}"])

    def _has_source(self) -> bool:
        return any(self._members[host].error is None for host in self._delivery.sources)

    def _plainly(self) -> None:
        """By rsync to the hosts that have no Python; to all that have nothing yet where no source has one."""
        members = self._members
        plain = [host for host, one in members.items() if one.error and one.error.id == "spread-python"]
        if not plain:
            return
        whole = [host for host, one in members.items() if one.told.sealed and not one.error]
        lenders = whole or [host for host in self._delivery.sources if host in plain]
        targets = plain if whole else [host for host, one in members.items() if host in plain or not one.error]
        posts = {host: one.post for host, one in members.items()}
        way = Plainly(self._fleet, self._parcel, posts, self._settings.rate_limit, self._about())
        for host, error in way.bring(lenders, targets).items():
            members[host].error, members[host].seconds = error, time.monotonic() - self._began
            if error is None:
                members[host].told = Told(verified=self._parcel.size, files=len(self._parcel.files), sealed=True)

    def _name_what_is_left(self) -> None:
        """Without a source that takes part there was nothing to wait for; what is wrong with them is the cause."""
        sources = {host: self._members[host].told.bad_here for host in self._delivery.sources}
        wrong = [f"{host} has another {', '.join(files)}" for host, files in sources.items() if files]
        observed = "; ".join(["no source takes part", *wrong])
        for host, one in self._members.items():
            if not one.error and not one.told.sealed:
                one.error = refusal("spread-starved", observed, host, one.post.folder)

    def _look(self) -> None:
        """Ask everybody who is not done; those that did not answer last time less often."""
        now = time.monotonic()
        asked = [
            host
            for host, one in self._members.items()
            if one.error is None and (one.silent_since is None or now - one.asked_at > RETRY_UNANSWERED_S)
        ]
        for host in asked:
            self._members[host].asked_at = now

        def look(transport: Transport) -> Told:
            member = self._members[transport.host]
            answer = in_time(transport.run(scripts.look_script(member.post), timeout=LOOK_DEADLINE_S), transport.host)
            told = read_told(answer.text)
            return told if told.port or told.failed or not told.alive else member.told

        silent = {host for host in asked if self._members[host].silent_since is not None}
        for host, outcome in self._fleet.each(look, asked).items():
            self._heard(host, outcome)
        if any(self._members[host].silent_since is None for host in silent):
            self._tell_ring()  # what they missed

    def _heard(self, host: str, outcome: Told | BringupError) -> None:
        member, now = self._members[host], time.monotonic()
        if isinstance(outcome, Told):
            was_done = member.told.sealed
            member.told, member.silent_since = outcome, None
            if outcome.failed:
                member.error = refusal(*outcome.failed, host, member.post.folder)
            if member.error or (outcome.sealed and not was_done):
                member.seconds = now - self._began
        elif outcome.exit_code == outcome.exit_code.UNREACHABLE:
            member.silent_since = member.silent_since or now
            member.asked_at = now
            if now - member.silent_since > UNANSWERED_S and not member.told.sealed:
                member.error, member.seconds = unanswered(host, outcome, member.told), now - self._began
        else:
            member.error, member.seconds = outcome, now - self._began

    def _lost(self) -> list[str]:
        """Hosts whose process has gone without a word; those that are done must lend while others are not."""
        if self._is_over():
            return []
        answering = {host: one for host, one in self._members.items() if one.silent_since is None}
        return [host for host, one in answering.items() if one.error is None and not one.told.alive]

    def _is_over(self) -> bool:
        return all(one.error or one.told.sealed for one in self._members.values())

    def _end(self) -> None:
        """End the program everywhere. What it noted stays where the folder is not whole: it goes on from there."""
        whole = all(one.told.sealed and not one.error for one in self._members.values())

        def end(transport: Transport) -> None:
            member = self._members[transport.host]
            answer = transport.run(scripts.end_script(member.post, forget=whole), timeout=ASK_S)
            last = read_told(answer.text)
            if last.port and last.sealed == member.told.sealed:  # what it sent to the others after it was done itself
                member.told = last

        self._fleet.each(end, [host for host, one in self._members.items() if one.silent_since is None])


def cancel(fleet: Fleet, delivery: Delivery, *, forget: bool = False) -> dict[str, BringupError | None]:
    """End what a spread left running on the hosts of a delivery. `forget`: also their notes of what was verified."""

    def end(transport: Transport) -> None:
        transport.run(scripts.end_script(post_of(transport.host, fleet, delivery), forget=forget), timeout=ASK_S)

    return fleet.each(end, ring_of(delivery.sources, delivery.targets))


def status(fleet: Fleet, delivery: Delivery) -> dict[str, Told | BringupError]:
    """How far a spread is that goes on by itself. `alive` False: nothing runs on that host."""

    def look(transport: Transport) -> Told:
        post = post_of(transport.host, fleet, delivery)
        return read_told(in_time(transport.run(scripts.look_script(post), timeout=LOOK_DEADLINE_S), post.host).text)

    return fleet.each(look, ring_of(delivery.sources, delivery.targets))


def post_of(host: str, fleet: Fleet, delivery: Delivery) -> Post:
    state_dir = fleet.state_dirs[host]
    return Post(host, state_dir, delivery.folders[host], delivery.addresses[host], delivery.parcel.digest)
