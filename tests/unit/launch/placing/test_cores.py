"""Whole cores divided among processes."""

from __future__ import annotations

import pytest

from launch.placing.cores import API_SERVER, ENGINE_CORE, OTHERS, WORKER, Process, divide

PAIRS = {0: [(0, 8), (1, 9), (2, 10), (3, 11)], 2: [(4, 12), (5, 13), (6, 14), (7, 15)]}


def test_each_process_has_a_core_on_its_node_and_the_rest_is_shared() -> None:
    there = [Process(WORKER, 0, 0), Process(WORKER, 1, 2), Process(ENGINE_CORE, 0, 0)]
    assert divide(PAIRS, there, (WORKER,)) == {
        Process(ENGINE_CORE, 0, 0): (0, 8),
        Process(WORKER, 0, 0): (1, 2, 3, 9, 10, 11),
        Process(WORKER, 1, 2): (4, 5, 6, 7, 12, 13, 14, 15),
    }


def test_a_process_of_any_node_goes_where_most_cores_are_left_for_it() -> None:
    there = [*(Process(WORKER, number, 0) for number in range(3)), Process(API_SERVER, 0), Process(OTHERS, 0)]
    shares = divide(PAIRS, there, ())
    assert shares is not None
    assert shares[Process(API_SERVER, 0)] == (5, 13)
    assert shares[Process(OTHERS, 0)] == (4, 12), "the lowest core, where the kernel works too"


@pytest.mark.parametrize(
    "there",
    [
        [Process(WORKER, number, 0) for number in range(5)],  # node 0 has four cores, whatever node 2 has
        [Process(WORKER, 0, 1)],  # a node that is not there
        [*(Process(WORKER, number, 0) for number in range(4)), *(Process(API_SERVER, one) for one in range(5))],
    ],
)
def test_too_few_cores_are_not_divided(there: list[Process]) -> None:
    assert divide(PAIRS, there, (WORKER,)) is None


def test_what_is_left_over_goes_to_the_first_in_line() -> None:
    there = [Process(WORKER, 0, 0), Process(WORKER, 1, 0), Process(API_SERVER, 0, 0)]
    shares = divide({0: [(core,) for core in range(8)]}, there, (API_SERVER, WORKER))
    assert shares is not None
    assert [len(shares[one]) for one in there] == [3, 2, 3]
    assert sorted(cpu for share in shares.values() for cpu in share) == list(range(8))
