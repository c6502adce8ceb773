"""A folder is spread over real links between lab hosts, of which one fails: the others have it all the same."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Thread

import pytest

from inventory.fleet import Fleet
from inventory.lab import faults
from inventory.lab.lifecycle import Equipment
from inventory.lab.state import Lab
from inventory.load import load
from launch.spread.outcome import Outcome
from launch.spread.parcel import MANIFEST, Parcel
from launch.spread.spread import Delivery, Settings, spread
from tests.lab.conftest import MakeLab, on
from tests.soak.folders import folder_of, root_of, wrong_files
from tests.soak.spread import one_round

pytestmark = pytest.mark.lab

SIZES = {f"part-{at}.bin": 6 << 20 for at in range(5)}
QUICK = Settings(lanes=2, patience_s=12.0, idle_s=30.0)
SLOW = replace(QUICK, rate_limit=6_000_000)


@pytest.fixture(scope="module")
def lab(make_lab: MakeLab) -> Lab:
    return make_lab(5, equipment=Equipment(disk="160M"))


@pytest.fixture
def folder(lab: Lab, request: pytest.FixtureRequest) -> Iterator[tuple[str, Parcel]]:
    """A folder of the test's own name on tray1, and what is in it."""
    name = f"srv/{request.node.name}"
    chance = random.Random(name)  # noqa: S311  (any bytes)
    yield f"/{name}", folder_of(root_of(lab, "tray1") / name, SIZES, chance)
    for host in lab.hosts:
        on(lab, host.name, f"rm -rf /{name}")


def deliver(lab: Lab, folder: tuple[str, Parcel], settings: Settings) -> dict[str, Outcome]:
    names = tuple(host.name for host in lab.hosts)
    addresses = {host.name: host.fabric for host in lab.hosts}
    delivery = Delivery(folder[1], dict.fromkeys(names, folder[0]), addresses, names[:1], names[1:], settings)
    with Fleet(list(load(lab.inventory).hosts.values())) as fleet:
        return spread(fleet, delivery)


def beside(lab: Lab, folder: tuple[str, Parcel], fault: Callable[[], None]) -> dict[str, Outcome]:
    """A slow spread, in whose middle something happens."""
    found: dict[str, Outcome] = {}
    thread = Thread(target=lambda: found.update(deliver(lab, folder, SLOW)))
    thread.start()
    third = root_of(lab, "tray3") / folder[0].lstrip("/") / "part-0.bin"
    end = time.monotonic() + 30
    while not third.exists() and time.monotonic() < end:
        time.sleep(0.05)
    fault()
    thread.join(120)
    assert found, "it did not end"
    return found


def right(lab: Lab, folder: tuple[str, Parcel], *hosts: str) -> bool:
    places = [root_of(lab, host) / folder[0].lstrip("/") for host in hosts]
    return all((place / MANIFEST).exists() and not wrong_files(place, folder[1]) for place in places)


def sent(lab: Lab, host: str, interface: str) -> int:
    return int(on(lab, host, f"cat /sys/class/net/{interface}/statistics/tx_bytes").stdout)


def test_it_goes_over_the_fabric_and_the_source_sends_one_copy(lab: Lab, folder: tuple[str, Parcel]) -> None:
    before = sent(lab, "tray1", "fab0"), sent(lab, "tray1", "eth0")
    outcomes = deliver(lab, folder, QUICK)
    fabric, control = sent(lab, "tray1", "fab0") - before[0], sent(lab, "tray1", "eth0") - before[1]
    assert all(one.verified for one in outcomes.values())
    assert right(lab, folder, *(host.name for host in lab.hosts))
    size = folder[1].size
    assert size <= fabric < 1.3 * size
    assert control < 0.1 * size


def test_a_link_that_breaks_in_the_middle_is_routed_around(lab: Lab, folder: tuple[str, Parcel]) -> None:
    try:
        outcomes = beside(lab, folder, lambda: faults.cut("tray3", only="fabric", lab=lab.name))
    finally:
        faults.heal("tray3", only="fabric", lab=lab.name)
    assert right(lab, folder, "tray1", "tray2", "tray4", "tray5")
    error = outcomes["tray3"].error
    assert error
    assert error.id == "spread-starved"
    assert [host for host, one in outcomes.items() if one.verified] == ["tray1", "tray2", "tray4", "tray5"]
    assert all(one.verified for one in deliver(lab, folder, QUICK).values()), "healed, it gets the rest"
    assert right(lab, folder, "tray3")


def test_a_host_that_dies_is_named_and_the_others_have_it(
    lab: Lab, folder: tuple[str, Parcel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("launch.spread.spread.UNANSWERED_S", 3.0)
    try:
        outcomes = beside(lab, folder, lambda: faults.power_off("tray2", lab=lab.name))
    finally:
        faults.power_on("tray2", lab=lab.name)
    assert right(lab, folder, "tray1", "tray3", "tray4", "tray5")
    assert outcomes["tray2"].error
    assert outcomes["tray2"].error.id == "spread-unreachable"


def test_a_disk_without_room_is_named_and_the_others_have_it(lab: Lab, folder: tuple[str, Parcel]) -> None:
    free = int(on(lab, "tray3", "df -Pk / | awk 'NR == 2 { print $4 }'").stdout) << 10
    leave = folder[1].size - (8 << 20)
    on(lab, "tray3", f"head -c {free - leave} /dev/zero >/srv/ballast")
    try:
        outcomes = deliver(lab, folder, QUICK)
    finally:
        on(lab, "tray3", "rm -f /srv/ballast")
    error = outcomes["tray3"].error
    assert error
    assert error.id == "spread-space"
    assert right(lab, folder, "tray2", "tray4", "tray5")


def test_a_few_rounds_of_the_soak(lab: Lab) -> None:
    told: list[str] = []
    counted: Counter[str] = Counter()
    for seed in (100_002, 100_005):
        counted.update(one_round(lab, seed, told.append))
    assert counted["rounds"] == 2
    assert counted["wrong"] == 0, told
