"""Before a phase begins: what its changes need goes to this machine, from here to one host, from that to the others.

The first host that takes something lends it to the others at the plan's addresses; a host that does not reach it there
gets everything from here. All of it goes on where an earlier run was cut off.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inventory.errors import BringupError, ChangeFailed, raise_all
from inventory.transport.exchange import in_time
from playbooks.ship import scripts
from playbooks.web import Web
from playbooks.wheelhouse.store import Store, default_folder

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Completed, Transport
    from playbooks.cargo import Cargo, CargoFile
    from playbooks.plan import Change

T = TypeVar("T")

ABSENT = -1  # of a size: a file may be empty
ASK_S = 60.0
PIECE = 1 << 18
TOLD_EVERY_S = 5.0
SLOWEST = 1e6  # bytes a second over SSH; what is slower is given up, and goes on with the next run
Says = Callable[["Change", str], None]


@contextmanager
def supplied(changes: Sequence[Change], fleet: Fleet, says: Says, store: Store | None = None) -> Iterator[None]:
    """Everything that `changes` are given is on its way or there; what lends it ends with the block."""
    at = store or Store(default_folder())
    lenders: list[tuple[str, Cargo]] = []
    try:
        for group in _groups(changes):
            lenders += _supply(group, fleet, says, at)
        yield
    finally:
        for host, cargo in lenders:
            fleet.each(partial(_end, cargo=cargo), [host])


def _groups(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes by what they are given: the same files on several hosts are one group."""
    groups: dict[str, list[Change]] = {}
    for change in changes:
        if change.cargo is not None:
            groups.setdefault(change.cargo.digest, []).append(change)
    return list(groups.values())


def _supply(group: Sequence[Change], fleet: Fleet, says: Says, store: Store) -> list[tuple[str, Cargo]]:
    """Returns who lends to the others, if somebody does."""
    by_host = {change.host: change for change in group}
    there = _each(fleet, by_host, lambda transport, change: _there(transport, _cargo(change)))
    seed = by_host[max(by_host, key=lambda host: sum(there[host].values()))]
    cargo = _cargo(seed)
    if _rest(cargo, there[seed.host]):
        store.fetch(cargo.files, Web(cargo.proxy, cargo.no_proxy), _Told(seed, says, "from the index", cargo.size).came)
        _each(fleet, {seed.host: seed}, lambda transport, change: _send(transport, change, there, store, says))
    others = {host: change for host, change in by_host.items() if change is not seed}
    if not others:
        return []
    urls = _lent(fleet, seed)
    reached = _each(fleet, others, lambda transport, change: _reaches(transport, _cargo(change), urls))
    cut_off = {host: change for host, change in others.items() if not reached[host]}
    if cut_off:
        says(seed, f"{', '.join(cut_off)} cannot fetch from {seed.host}: everything goes there from here")
        store.fetch(cargo.files, Web(cargo.proxy, cargo.no_proxy), _Told(seed, says, "from the index", cargo.size).came)
        _each(fleet, cut_off, lambda transport, change: _send(transport, change, there, store, says))
    return [(seed.host, cargo)]


def _cargo(change: Change) -> Cargo:
    assert change.cargo is not None  # noqa: S101  (only such changes are in groups)
    return change.cargo


def _each(fleet: Fleet, changes: Mapping[str, Change], function: Callable[[Transport, Change], T]) -> dict[str, T]:
    """Call `function` for the change of every host, all at once. Raises what any of them raised."""
    outcomes = fleet.each(lambda transport: function(transport, changes[transport.host]), list(changes))
    raise_all([one for one in outcomes.values() if isinstance(one, BringupError)])
    return {host: one for host, one in outcomes.items() if not isinstance(one, BringupError)}


def _there(transport: Transport, cargo: Cargo) -> dict[str, int]:
    """Sizes of what came before, by name. Raises `ChangeFailed` when the rest has no room."""
    answer = in_time(transport.run(scripts.sizes_script(cargo), timeout=ASK_S), transport.host)
    _refuse_failure(answer, transport.host, cargo.incoming)
    sizes, free = scripts.read_sizes(answer.text)
    sizes = {one.name: sizes.get(one.name, ABSENT) for one in cargo.files}
    needed = cargo.size - sum(sizes.values())
    if free is not None and free < needed:
        raise ChangeFailed(
            "the disk has no room for what the host is to be given",
            id="ship-space",
            observed=f"{free / 1e9:.1f} GB free below {cargo.incoming}",
            required=f"{needed / 1e9:.1f} GB",
            next_command=f"on the host: df -h {cargo.incoming}",
            host=transport.host,
        )
    return sizes


def _rest(cargo: Cargo, there: Mapping[str, int]) -> list[CargoFile]:
    return [one for one in cargo.files if there[one.name] != one.size]


def _send(
    transport: Transport, change: Change, there: Mapping[str, Mapping[str, int]], store: Store, says: Says
) -> None:
    """Everything that the host does not have, from here."""
    cargo, sizes = _cargo(change), dict(there[transport.host])
    too_long = [one.name for one in cargo.files if sizes[one.name] > one.size]
    if too_long:
        transport.run(scripts.remove_script(cargo, too_long), timeout=ASK_S)
        sizes |= dict.fromkeys(too_long, ABSENT)
    told = _Told(change, says, "sent", cargo.size)
    for file in cargo.files:
        begin = max(0, sizes[file.name])
        told.came(begin)
        if sizes[file.name] != file.size:
            pieces = _pieces(store.path(file), begin, told)
            deadline = ASK_S + (file.size - begin) / SLOWEST
            transport.append(pieces, f"{cargo.incoming}/{file.name}", deadline_s=deadline)
    if short := _rest(cargo, _there(transport, cargo)):
        raise ChangeFailed(
            "what was sent did not arrive",
            id="ship-failed",
            observed=f"{len(short)} of {len(cargo.files)} files are not whole, {short[0].name} first",
            required="every byte",
            next_command=f"on the host: df -h {cargo.incoming}; then the same command again: it sends the rest",
            host=transport.host,
        )


def _pieces(path: Path, begin: int, told: _Told) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(begin)
        while piece := file.read(PIECE):
            yield piece
            told.came(len(piece))


def _lent(fleet: Fleet, seed: Change) -> list[str]:
    """Let the first host lend to the others; the addresses at which it does, with the secret in them."""
    cargo, secret = _cargo(seed), secrets.token_urlsafe(24)
    addresses = [address for host, address in cargo.addresses if host == seed.host]
    if not addresses:
        return []

    def begin(transport: Transport) -> Completed:
        _end(transport, cargo)
        return transport.run(scripts.serve_script(cargo, secret, addresses), timeout=ASK_S)

    outcome = fleet.on(seed.host, begin)
    return [
        f"http://{f'[{address}]' if ':' in address else address}:{port}/{secret}/"
        for address, port in scripts.read_served(outcome.text)
    ]


def _reaches(transport: Transport, cargo: Cargo, urls: Sequence[str]) -> bool:
    if not urls:
        return False
    answer = transport.run(scripts.try_script(cargo, urls), timeout=ASK_S)
    return answer.text.strip() == scripts.REACHED


def _end(transport: Transport, cargo: Cargo) -> None:
    transport.run(scripts.end_script(cargo), timeout=ASK_S)


def _refuse_failure(answer: Completed, host: str, folder: str) -> None:
    if answer.exit_status != 0:
        raise ChangeFailed(
            "the host cannot take files",
            id="ship-failed",
            observed=answer.stderr.decode(errors="replace").strip()[-300:] or f"exit status {answer.exit_status}",
            required=f"a folder {folder} that the login user may write",
            next_command=f"on the host: ls -la {folder.rpartition('/')[0]}",
            host=host,
        )


@dataclass(slots=True)
class _Told:
    """Counts bytes, from several threads, and says every few seconds how far it is."""

    change: Change
    says: Says
    verb: str
    total: int
    bytes: int = 0
    began: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def came(self, size: int) -> None:
        with self.lock:
            self.bytes += size
            now = time.monotonic()
            if now - self.told < TOLD_EVERY_S:
                return
            self.told = now
        rate = self.bytes / 1e6 / (now - self.began)
        self.says(self.change, f"{self.bytes / 1e9:.2f} of {self.total / 1e9:.2f} GB {self.verb}, {rate:.0f} MB/s")
