"""Which GPUs a rank may have, and which of them it gets together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.host import GpuHealth, Link
from launch.placing.usable import distance, teams, unusable
from tests.fleets import linked, spoiled
from tests.unit.launch.gangs import gpu


@pytest.mark.parametrize(
    ("state", "says"), [(0, "MIG"), (1, "could not be remapped"), (2, "asks for Reset")], ids=["mig", "remap", "reset"]
)
def test_a_gpu_that_no_rank_may_have_says_why(state: int, says: str) -> None:
    assert says in unusable(spoiled(gpu(0), state))


@pytest.mark.parametrize("action", [None, "None", "N/A", ""])
def test_a_driver_that_asks_for_nothing_is_well(action: str | None) -> None:
    assert unusable(replace(gpu(0), health=GpuHealth(recovery_action=action, remap_pending=True))) == ""


def indices(found: tuple[tuple[object, ...], ...]) -> list[list[int]]:
    return [[one.index for one in team] for team in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("links", "width", "count", "wanted"),
    [
        ("mesh", 2, 4, [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ("untold", 4, 2, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("pairs", 2, 4, [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("pairs", 2, 1, [[0, 4]]),
        ("pcie", 4, 1, [[0, 1, 2, 3]]),
        ("pairs", 8, 1, [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ("pairs", 1, 3, [[0], [1], [2]]),
    ],
)
def test_teams_have_the_shortest_links_there_are(links: str, width: int, count: int, wanted: list[list[int]]) -> None:
    devices = [gpu(index) for index in range(8)]
    assert indices(teams(devices, linked(links, 8, "nvidia"), width, count)) == wanted


def test_a_gpu_that_is_far_from_all_is_left_over() -> None:
    devices = [gpu(index) for index in range(5)]
    links = [Link(a, b, "SYS" if a == 0 else "NV18") for a in range(5) for b in range(a + 1, 5)]
    assert indices(teams(devices, links, 4, 1)) == [[1, 2, 3, 4]]
    assert indices(teams(devices, links, 2, 2)) == [[1, 2], [3, 4]]


def test_too_few_gpus_make_no_team() -> None:
    assert teams([gpu(0), gpu(1)], (), 2, 2) == ()


def test_words_of_vendors_from_near_to_far() -> None:
    words = ["NV18", "PIX", "PXB", "PHB", "NODE", "SYS", "PCIe", "something new"]
    assert [distance(word) for word in words] == sorted(distance(word) for word in words)
    assert distance("XGMI") == distance("NV2") == 0
    assert distance(None) == distance("something new")
