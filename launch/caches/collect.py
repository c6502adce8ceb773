"""Ask hosts which caches of builds they hold, and take away those that nothing needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed
from inventory.transport.exchange import in_time
from launch.caches.holdings import (
    CacheFolder,
    CachesHeld,
    caches_script,
    judged_caches,
    read_caches,
    remove_caches_script,
)

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport

LIST_S, REMOVE_S = 120.0, 600.0


def caches_held_by(fleet: Fleet, hosts: Sequence[str]) -> dict[str, CachesHeld | BringupError]:
    """What every host holds, or why it did not tell."""
    return fleet.each(lambda transport: _told(transport, fleet.state_dirs[transport.host]), hosts)


def caches_removed(
    fleet: Fleet, hosts: Sequence[str], *, spare: int, shown: Mapping[str, Collection[str]] | None = None
) -> dict[str, tuple[CacheFolder, ...] | BringupError]:
    """Remove what may go, under the caller's locks: each host tells anew. Returns what is gone, by host.

    `shown`: stamps by host; where given nothing else goes.
    """

    def one(transport: Transport) -> tuple[CacheFolder, ...]:
        state_dir = fleet.state_dirs[transport.host]
        verdicts = judged_caches(_told(transport, state_dir), spare=spare)
        among = None if shown is None else shown[transport.host]
        going = {
            one.folder.stamp: one.folder
            for one in verdicts
            if one.may_go and (among is None or one.folder.stamp in among)
        }
        if not going:
            return ()
        script = remove_caches_script(tuple(going), state_dir=state_dir)
        done = in_time(transport.run(script, timeout=REMOVE_S), transport.host)
        gone = {line.removeprefix("gone ") for line in done.text.splitlines() if line.startswith("gone ")}
        if left := [stamp for stamp in going if stamp not in gone]:
            raise _not_gone(transport.host, f"{state_dir}/caches/{left[0]}", done.stderr.decode(errors="replace"))
        return tuple(going.values())

    return fleet.each(one, tuple(hosts))


def _told(transport: Transport, state_dir: str) -> CachesHeld:
    answer = in_time(transport.run(caches_script(state_dir=state_dir), timeout=LIST_S), transport.host)
    try:
        return read_caches(transport.host, answer.text)
    except ValueError as error:
        raise _unreadable(transport.host, str(error)) from None


def _not_gone(host: str, path: str, said: str) -> ChangeFailed:
    return ChangeFailed(
        "caches could not be removed",
        id="caches-not-removed",
        observed=f"{path}: {said.strip()[-200:] or 'no words'}",
        required="folders that the login user may remove",
        next_command=f"on {host}: ls -ld {path}",
        host=host,
    )


def _unreadable(host: str, observed: str) -> ChangeFailed:
    return ChangeFailed(
        "the host does not tell about its caches",
        id="caches-unreadable",
        observed=observed,
        required="a line for each folder of caches",
        next_command=f"invoke probe --hosts {host} --host-detail",
        host=host,
    )
