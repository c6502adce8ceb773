"""Fan-out over hosts whose logins are stand-ins; real servers are in tests/sshd/test_many.py."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, ClassVar

import pytest

from inventory import fanout
from inventory.errors import BadInput, BringupError, HostUnreachable
from inventory.fanout import Logins, fan_out
from inventory.schema import Host
from inventory.transport.local import LocalTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.transport.base import Transport


class Door(LocalTransport):
    """A login that is counted, may be refused a number of times, and shares its door with all others."""

    inside: ClassVar[Counter[str]] = Counter()
    most: ClassVar[Counter[str]] = Counter()
    tries: ClassVar[Counter[str]] = Counter()
    lock = threading.Lock()

    def __init__(self, host: str, drops: int, kind: str) -> None:
        super().__init__(host)
        self._drops = drops
        self._kind = kind
        self.closed = False

    @property
    def doors(self) -> tuple[str, ...]:
        return ("jump:22", "target:22")

    def open(self) -> None:
        with self.lock:
            self.tries[self.host] += 1
            self.inside["now"] += 1
            self.most["ever"] = max(self.most["ever"], self.inside["now"])
        time.sleep(0.02)
        with self.lock:
            self.inside["now"] -= 1
        if self.tries[self.host] <= self._drops:
            raise HostUnreachable("dropped", id=self._kind)

    def close(self) -> None:
        self.closed = True
        super().close()


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for counter in (Door.inside, Door.most, Door.tries):
        counter.clear()
    monkeypatch.setattr(fanout, "RETRY_S", 0.01)


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Door]]:
    """Make logins by these settings; returns them as they are chosen."""

    def use(*, drops: int = 0, kind: str = "banner") -> dict[str, Door]:
        made: dict[str, Door] = {}

        def choose(host: Host, *, brief: bool) -> Door:  # noqa: ARG001  (the same for both)
            made[host.name] = Door(host.name, drops, kind)
            return made[host.name]

        monkeypatch.setattr(fanout, "choose", choose)
        return made

    return use


def hosts(count: int) -> list[Host]:
    return [Host(name=f"tray{number}") for number in range(count)]


def name(transport: Transport) -> str:
    return transport.host


def test_results_come_in_the_order_of_the_hosts(doors: Callable[..., dict[str, Door]]) -> None:
    made = doors()

    def later_first(transport: Transport) -> str:
        time.sleep(0.05 if transport.host == "tray0" else 0)
        return transport.host

    assert list(fan_out(hosts(6), later_first).items()) == [(f"tray{n}", f"tray{n}") for n in range(6)]
    assert all(door.closed for door in made.values())


def test_no_hosts_is_no_work() -> None:
    assert fan_out([], name) == {}


def test_logins_through_one_door_are_capped(doors: Callable[..., dict[str, Door]]) -> None:
    doors()
    fan_out(hosts(20), name)
    assert 1 < Door.most["ever"] <= fanout.HANDSHAKES


def test_a_dropped_login_is_tried_again_one_at_a_time(doors: Callable[..., dict[str, Door]]) -> None:
    doors(drops=fanout.RETRIES)
    results = fan_out(hosts(3), name)
    assert all(not isinstance(result, BringupError) for result in results.values())
    assert set(Door.tries.values()) == {fanout.RETRIES + 1}


@pytest.mark.parametrize(("kind", "tries"), [("banner", 1 + fanout.RETRIES), ("auth", 1), ("timeout", 1)])
def test_only_dropped_logins_are_tried_again_and_not_for_ever(
    doors: Callable[..., dict[str, Door]], kind: str, tries: int
) -> None:
    doors(drops=100, kind=kind)
    (result,) = fan_out(hosts(1), name).values()
    assert isinstance(result, HostUnreachable)
    assert (result.id, result.host, Door.tries["tray0"]) == (kind, "tray0", tries)


def test_logins_that_are_shared_stay_open(doors: Callable[..., dict[str, Door]]) -> None:
    made = doors()
    logins = Logins()
    first = fan_out(hosts(2), id, logins=logins)
    assert fan_out(hosts(2), id, logins=logins) == first
    assert not any(door.closed for door in made.values())
    logins.close()
    assert all(door.closed for door in made.values())


def test_after_close_there_are_no_logins(doors: Callable[..., dict[str, Door]]) -> None:
    doors()
    logins = Logins()
    logins.close()
    (result,) = fan_out(hosts(1), name, logins=logins).values()
    assert isinstance(result, HostUnreachable)
    assert Door.tries["tray0"] == 0


def test_a_hosts_error_is_its_result_and_is_told_at_once(doors: Callable[..., dict[str, Door]]) -> None:
    doors()
    told: dict[str, object] = {}

    def one(transport: Transport) -> str:
        if transport.host == "tray1":
            raise BadInput("no", id="x")
        return transport.host

    results = fan_out(hosts(2), one, on_result=told.__setitem__)
    assert results["tray0"] == "tray0"
    assert isinstance(results["tray1"], BadInput)
    assert results["tray1"].host == "tray1"
    assert told == results


def test_a_bug_stops_the_rest_and_is_raised(doors: Callable[..., dict[str, Door]]) -> None:
    made = doors()

    def one(transport: Transport) -> str:
        if transport.host == "tray0":
            raise ZeroDivisionError
        return transport.run("sleep 30", timeout=60).text

    started = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        fan_out(hosts(4), one, limit=2)
    assert time.monotonic() - started < 10
    assert all(door.closed for door in made.values())
    assert len(made) < 4


def test_a_slow_host_does_not_delay_what_others_tell(doors: Callable[..., dict[str, Door]]) -> None:
    doors()
    told: dict[str, float] = {}
    started = time.monotonic()

    def one(transport: Transport) -> None:
        transport.run("sleep 2" if transport.host == "tray0" else "true", timeout=10)

    fan_out(hosts(3), one, on_result=lambda host, _: told.update({host: time.monotonic() - started}))
    assert max(told["tray1"], told["tray2"]) < told["tray0"]
    assert told["tray0"] >= 2


def test_a_host_that_is_late_is_given_up_and_the_others_count(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {name: Door(name, 0, "") for name in ("quick", "stuck")}
    monkeypatch.setattr(fanout, "choose", lambda host, **_: made[host.name])
    logins, released = Logins(), threading.Event()

    def work(transport: Transport) -> str:
        if transport.host == "stuck":
            released.wait(20)
        return transport.host

    began = time.monotonic()
    told = fan_out([Host(name=name, address="h") for name in made], work, logins=logins, within_s=0.5)
    assert time.monotonic() - began < 5
    assert told["quick"] == "quick"
    late = told["stuck"]
    assert isinstance(late, HostUnreachable)
    assert late.id == "host-slow"
    assert made["stuck"].closed, "nothing that waits for it goes on for ever"
    assert not made["quick"].closed
    released.set()


def test_a_time_out_inside_the_work_is_a_bug_and_no_late_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanout, "choose", lambda host, **_: Door(host.name, 0, ""))

    def work(_: Transport) -> str:
        raise TimeoutError("a bug")

    with pytest.raises(TimeoutError, match="a bug"):
        fan_out([Host(name="one", address="h")], work, within_s=5)
