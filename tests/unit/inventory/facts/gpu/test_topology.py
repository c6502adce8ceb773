from __future__ import annotations

import pytest

from inventory.facts.gpu.topology import Affinity, cpu_node, parse_affinities

PLAIN = (
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPXB\t0-71\t0,3-9,11-17\t\t2\n"
    "GPU1\tNV18\t X \tSYS\t\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\t X \t\t\t\t\n"
)


def test_cells_are_split_at_tabs() -> None:
    assert parse_affinities(PLAIN) == {
        0: Affinity("0-71", "0,3-9,11-17", "2"),
        1: Affinity("", "1", "N/A"),
    }


def test_older_drivers_have_fewer_columns() -> None:
    no_memory_id = "\tGPU0\tmlx5_0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-13\t0\n"
    assert parse_affinities(no_memory_id) == {0: Affinity("0-13", "0", "")}
    no_numa = "\tGPU0\tmlx5_0\tCPU Affinity\nGPU0\t X \tPIX\t0-55\n"
    assert parse_affinities(no_numa) == {0: Affinity("0-55", "", "")}


def test_a_second_matrix_does_not_change_the_first() -> None:
    again = "\tGPU0\tCPU Affinity\nGPU0\t X \t9\n"
    assert parse_affinities(PLAIN + again)[0] == Affinity("0-71", "0,3-9,11-17", "2")


@pytest.mark.parametrize("text", ["", "No devices were found\n", "GPU0\t X \t0-13\t0\n", "\tCPU Affinity\n"])
def test_no_matrix(text: str) -> None:
    assert parse_affinities(text) == {}


@pytest.mark.parametrize(
    ("cell", "with_cpus", "node"),
    [
        ("0,3-9,11-17", (0, 1), 0),
        ("1,19-25,27-33", (0, 1), 1),
        ("1", (0, 1), 1),
        ("0-1", (0, 1), None),  # two nodes: no single one
        ("N/A", (0, 1), None),
        ("", (0, 1), None),
        ("2", (0, 1), None),  # the HBM node is never one to pin to
        ("3", (), 3),  # the host's nodes are unknown
    ],
)
def test_the_node_that_has_cpus(cell: str, with_cpus: tuple[int, ...], node: int | None) -> None:
    assert cpu_node(cell, with_cpus) == node
