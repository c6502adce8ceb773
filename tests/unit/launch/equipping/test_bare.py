"""Which hosts are bare, who brings them a driver, and what their profile is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.errors import CheckFailed, Several
from inventory.facts.base import Unknown, is_known
from inventory.facts.host import BusGpu, Gpus, HostFacts
from launch.choosing.hardware import profile_to_equip
from launch.equipping.bare import bare_hosts, is_equipped, refuse_bare
from tests.unit.playbooks.books.test_bare_hosts import B200, GB200, H200, NO_DRIVER, bare
from tests.unit.playbooks.checks.gang import tray

AMD = bare("75a3", vendor="amd")


def renamed(name: str) -> Gpus:
    gpus = tray().gpus
    assert is_known(gpus)
    return replace(gpus, devices=tuple(replace(one, name=name) for one in gpus.devices))


@pytest.mark.parametrize(
    ("facts", "profile"),
    [
        (bare(H200, H200), "h200"),
        (bare(B200), "b200"),
        (bare(GB200), "gb200"),
        (AMD, "mi355x"),
        (bare("ffff"), None),
        (bare(H200, "ffff"), None),
        (bare("75ff", vendor="amd"), None),
        (bare("2236"), "other"),
        (bare("2236", H200), "other"),
        (bare(H200, B200), "other"),
        (replace(tray(), gpus=renamed("NVIDIA RTX 6000 Ada Generation")), "other"),
        (tray(), "gb200"),
        (replace(tray(), gpus=NO_DRIVER, bus_gpus=NO_DRIVER), None),
    ],
)
def test_the_profile_of_a_host_that_is_still_to_be_equipped(facts: HostFacts, profile: str | None) -> None:
    found = profile_to_equip(facts)
    assert (None if isinstance(found, Unknown) else found) == profile


def test_a_host_with_a_driver_or_without_gpus_is_not_bare() -> None:
    no_gpus = replace(tray(), gpus=NO_DRIVER, bus_gpus=())
    mixed = replace(tray(), gpus=NO_DRIVER, bus_gpus=(BusGpu("a", "nvidia", H200), BusGpu("b", "amd", "75a3")))
    facts = {"a": tray(), "b": bare(H200), "c": no_gpus, "d": AMD, "e": mixed}
    assert bare_hosts(facts) == {"b": "nvidia", "d": "amd"}


@pytest.mark.parametrize(
    ("books", "enough"), [([], False), (["tuning"], False), (["nvidia"], False), (["amd", "nvidia", "x"], True)]
)
def test_the_drivers_of_all_of_them_must_come(books: list[str], enough: bool) -> None:  # noqa: FBT001
    assert is_equipped({"b": "nvidia", "d": "amd"}, books) is enough


def test_a_refusal_names_the_command_that_brings_the_driver() -> None:
    facts = {"n 1": bare(H200), "n2": bare(H200)}
    with pytest.raises(CheckFailed) as caught:
        refuse_bare(bare_hosts(facts), facts)
    assert caught.value.id == "driver-missing"
    assert "--hosts 'n 1,n2' --playbook nvidia" in caught.value.next_command
    with pytest.raises(CheckFailed) as caught:
        refuse_bare(bare_hosts(facts), facts, ["nvidia"])
    assert "invoke check" in caught.value.next_command, "installing it again would not help"


def test_two_vendors_are_two_refusals() -> None:
    facts = {"a": bare(H200), "b": AMD}
    with pytest.raises(Several) as caught:
        refuse_bare(bare_hosts(facts), facts)
    assert len(caught.value.errors) == 2
