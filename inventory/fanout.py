"""The same function on many hosts at once: bounded, in the order of the hosts, one host's failure is its result."""

from __future__ import annotations

import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from inventory.errors import BringupError, HostUnreachable
from inventory.quoting import quote
from inventory.transport.connect import choose
from inventory.transport.exchange import connection_lost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from inventory.schema import Host
    from inventory.transport.base import Transport
    from inventory.transport.framed import FramedTransport

T = TypeVar("T")

LIMIT = 32
"""Hosts that are worked on at once."""

HANDSHAKES = 8
"""Logins at once through one sshd, which by default begins to drop them at ten (MaxStartups 10:30:100)."""

RETRIES = 3
RETRY_S = 0.5


class Logins:
    """One transport per host, logged in when it is first asked for; `close` ends all of them, from any thread.

    `brief`: most hosts will be asked one script only.
    """

    def __init__(self, *, handshakes: int = HANDSHAKES, brief: bool = False) -> None:
        self._handshakes = handshakes
        self._brief = brief
        self._lock = threading.Lock()
        self._transports: dict[str, FramedTransport] = {}
        self._doors: dict[tuple[str, int], threading.BoundedSemaphore] = {}
        self._closed = threading.Event()

    def of(self, host: Host) -> Transport:
        """The transport of `host`, logged in. Raises `HostUnreachable`, or `BadInput` for its ssh configuration.

        Only a login that sshd dropped before it began is tried again, and then one at a time for each sshd.
        """
        transport = self._transport(host)
        for retry in range(RETRIES + 1):
            try:
                with self._through(transport.doors, 1 if retry else self._handshakes):
                    self._refuse_when_closed(host)
                    transport.open()
            except HostUnreachable as error:
                if error.id != "banner" or retry == RETRIES:
                    raise
                transport.dropped_logins += 1
                self._closed.wait(RETRY_S * 2**retry * random.uniform(0.5, 1.5))  # noqa: S311  (spreads logins)
            else:
                break
        return transport

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def give_up(self, name: str) -> None:
        """End the login of a host for good: whatever waits for it fails, and so does what asks it later."""
        with self._lock:
            transport = self._transports.get(name)
        if transport is not None:
            transport.close()

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            transports = tuple(self._transports.values())
        for transport in transports:
            transport.close()

    def _transport(self, host: Host) -> FramedTransport:
        with self._lock:
            known = self._transports.get(host.name)
        if known is None:
            known = choose(host, brief=self._brief)  # asks ssh: not under the lock
            with self._lock:
                known = self._transports.setdefault(host.name, known)
        return known

    @contextmanager
    def _through(self, doors: tuple[str, ...], width: int) -> Iterator[None]:
        """Hold a place at each of `doors`, in one order everywhere, so that no two wait for each other."""
        with ExitStack() as held:
            for door in sorted(set(doors)):
                held.enter_context(self._door(door, width))
            yield

    def _door(self, door: str, width: int) -> threading.BoundedSemaphore:
        with self._lock:
            return self._doors.setdefault((door, width), threading.BoundedSemaphore(width))

    def _refuse_when_closed(self, host: Host) -> None:
        if self._closed.is_set():
            raise connection_lost(host.name, "the connections were closed on this side")


def fan_out(
    hosts: Sequence[Host],
    function: Callable[[Transport], T],
    *,
    logins: Logins | None = None,
    limit: int = LIMIT,
    on_result: Callable[[str, T | BringupError], None] | None = None,
    within_s: float | None = None,
) -> dict[str, T | BringupError]:
    """What `function` returned for each host, or the `BringupError` of its login or its work; in the order of `hosts`.

    `logins` are kept open; without them every host is logged in to and closed again. `on_result` is called in this
    thread for each host as it ends. A host that has not ended after `within_s` seconds is given up, also for what is
    asked later by these logins. Ctrl-C, and an error that is a bug, close all connections and are raised at once.
    """
    shared = logins or Logins()
    results: dict[str, T | BringupError] = {}
    pool = ThreadPoolExecutor(max(1, min(limit, len(hosts))), thread_name_prefix="host")
    try:
        futures = {pool.submit(_one, shared, host, function): host.name for host in hosts}
        for future in _ended(futures, within_s):
            results[futures[future]] = future.result()
            if on_result:
                on_result(futures[future], results[futures[future]])
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        shared.close()
        raise
    late = [name for name in futures.values() if name not in results]
    for name in late:
        results[name] = _too_slow(name, within_s)
        shared.give_up(name)
    pool.shutdown(wait=not late, cancel_futures=True)
    if logins is None:
        shared.close()
    return {host.name: results[host.name] for host in hosts}


def _one(logins: Logins, host: Host, function: Callable[[Transport], T]) -> T | BringupError:
    try:
        return function(logins.of(host))
    except BringupError as error:
        error.host = error.host or host.name
        return error


def _ended(futures: Iterable[Future[T | BringupError]], within_s: float | None) -> Iterator[Future[T | BringupError]]:
    """Each as it ends, no more after `within_s` seconds."""
    with suppress(TimeoutError):
        yield from as_completed(futures, within_s)


def _too_slow(host: str, within_s: float | None) -> HostUnreachable:
    return HostUnreachable(
        "the host did not finish its answer in time: its state is unknown",
        id="host-slow",
        observed=f"no answer within {within_s:g} s" if within_s else "no answer",
        required="an answer within the deadline",
        next_command=f"invoke probe --hosts {quote(host)}",
        host=host,
    )
