"""Predicates and values on hosts whose GPUs have no driver: the PCI bus and the inventory decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.host import BusGpu, HostFacts
from playbooks.requirements import Build, Container
from playbooks.situation import NOT_PLANNED, Situation
from playbooks.values import VALUES
from playbooks.when import When, is_given
from tests.unit.playbooks.checks.gang import gang_needs, tray

NO_DRIVER = Unknown(Why.UNREADABLE, "8 NVIDIA GPUs on the PCI bus")
V100, H200, B200, GB200 = "1db1", "2335", "2901", "2941"


def bare(*devices: str, vendor: str = "nvidia") -> HostFacts:
    on_bus = tuple(BusGpu(f"00000000:{index:02x}:00.0", vendor, device) for index, device in enumerate(devices))
    return replace(tray(), gpus=NO_DRIVER, bus_gpus=on_bus)


def at(hardware: Maybe[str] = "h200", *devices: str, **fields: Any) -> Situation:  # noqa: ANN401
    return Situation(bare(*(devices or (H200,) * 8)), hardware, **fields)


@pytest.mark.parametrize(
    ("word", "situation", "answer"),
    [
        ("several-gpus", at("h200", H200, H200), True),
        ("several-gpus", at("h200", H200), False),
        ("open-modules", at("h200", H200, H200), True),
        ("closed-modules", at("h200", H200, H200), False),
        ("open-modules", at("b200", B200, B200), True),
        ("open-modules", at("h200", V100, H200), False),
        ("closed-modules", at("h200", V100, V100), True),
        ("nvswitch", at("b200", *(B200,) * 8), True),
        ("nvswitch", at("b200", B200), False),
        ("nvswitch", at("gb200", *(GB200,) * 4), False),
    ],
)
def test_the_bus_tells_what_the_driver_would(word: str, situation: Situation, answer: bool) -> None:  # noqa: FBT001
    assert situation.has(word) is answer


def test_what_nothing_tells_stays_unknown() -> None:
    blind = replace(at(), facts=replace(bare(H200), bus_gpus=NO_DRIVER, fabric=NO_DRIVER))
    for word in ("open-modules", "closed-modules", "several-gpus", "nvswitch"):
        assert isinstance(blind.has(word), Unknown), word
    assert isinstance(Situation(bare(H200, vendor="amd"), "mi300x").has("open-modules"), Unknown)
    assert blind.gpu == NO_DRIVER


def test_the_vendor_is_that_of_the_bus_where_it_is_one() -> None:
    assert at().gpu == "nvidia"
    assert Situation(bare("74a1", vendor="amd"), "mi300x").gpu == "amd"
    mixed = replace(bare(H200), bus_gpus=(BusGpu("a", "nvidia", H200), BusGpu("b", "amd", "74a1")))
    assert Situation(mixed, "h200").gpu == NO_DRIVER


@pytest.mark.parametrize(
    ("word", "settings", "given"),
    [
        ("a", {"a": "1"}, True),
        ("a", {}, False),
        ("a=1", {"a": "1"}, True),
        ("a=2", {"a": "1"}, False),
        ("a=1", {}, False),
        ("a=", {"a": "1"}, False),
    ],
)
def test_a_setting_may_have_to_have_one_value(word: str, settings: dict[str, str], given: bool) -> None:  # noqa: FBT001
    assert is_given(word, settings) is given
    assert When(given=(word,)).holds(at(settings=settings)) is given


def planned(**fields: Any) -> Situation:  # noqa: ANN401
    return at("gb200", needs=replace(gang_needs(), **fields))


@pytest.mark.parametrize(
    ("word", "situation", "answer"),
    [
        ("imex", at("gb200"), NOT_PLANNED),
        ("imex", at("gb200", settings={"imex_nodes": "10.0.0.1 10.0.0.2"}), True),
        ("imex", planned(mnnvl=True), True),
        ("imex", planned(mnnvl=False), False),
        ("compiles", at(), NOT_PLANNED),
        ("compiles", planned(container=Container(image="x")), False),
        ("compiles", planned(build=Build(packages=(("torch", "2"),)), container=None), True),
        ("compiles", planned(build=Build(packages=(("flashinfer-jit-cache", "1"),)), container=None), False),
    ],
)
def test_what_the_launch_needs_of_the_host(word: str, situation: Situation, answer: Maybe[bool]) -> None:
    assert situation.planned(word) == answer


def system(**fields: Any) -> Situation:  # noqa: ANN401
    facts = tray()
    assert is_known(facts.system)
    return Situation(replace(facts, system=replace(facts.system, **fields)), "gb200", settings={"driver": "595.71.05"})


@pytest.mark.parametrize(
    ("name", "situation", "value"),
    [
        ("cuda_os", system(id="ubuntu", version="24.04", family="debian"), "ubuntu2404"),
        ("cuda_os", system(id="debian", version="12", family="debian"), "debian12"),
        ("cuda_os", system(id="rocky", version="9.6", family="rhel"), "rhel9"),
        ("cuda_arch", system(architecture="aarch64"), "sbsa"),
        ("cuda_arch", system(architecture="x86_64"), "x86_64"),
        ("driver_branch", system(), "595"),
        ("imex_lines", at("gb200", settings={"imex_nodes": " 10.0.0.1  10.0.0.2 "}), "10.0.0.1\n10.0.0.2"),
    ],
)
def test_values_of_a_host(name: str, situation: Situation, value: str) -> None:
    assert VALUES[name](situation) == value


def test_values_that_nothing_tells() -> None:
    for name in ("cuda_os", "cuda_arch", "next_kernel"):
        facts = replace(tray(), system=NO_DRIVER, driver=NO_DRIVER)
        assert isinstance(VALUES[name](Situation(facts, "gb200")), Unknown), name
    assert isinstance(VALUES["cuda_os"](system(id="", version="")), Unknown)
    assert isinstance(VALUES["driver_branch"](at()), Unknown)
    assert VALUES["cuda_series"](at()) == NOT_PLANNED
