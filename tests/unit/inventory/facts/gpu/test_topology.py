from __future__ import annotations

import pytest

from inventory.facts.gpu.topology import Affinity, Matrix, cpu_node, distances, parse_affinities, parse_matrix
from inventory.facts.host import Link

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


def pasted(rows: str, header: str = "GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID") -> Matrix:
    return parse_matrix(f"{header}\n{rows}")


def test_a_paste_has_blanks_for_tabs() -> None:
    matrix = pasted(
        "GPU0     X      NV18    PXB     0-71    0,3-9             2\n"
        "GPU1    NV18     X      SYS     72-143  1    N/A\n"
    )
    assert matrix.affinities == {0: Affinity("0-71", "0,3-9", "2"), 1: Affinity("72-143", "1", "N/A")}
    assert matrix.links["GPU0", "NIC0"] == "PXB"
    assert (matrix.gpus, matrix.nics) == ((0, 1), ("NIC0",))


def test_blanks_hide_which_cell_is_empty() -> None:
    """Only the last is certain."""
    assert pasted("GPU0     X      NV18    PXB                             N/A\n").affinities[0] == Affinity(
        "", "", "N/A"
    )
    assert pasted("GPU0     X      NV18    PXB         1                   N/A\n").affinities[0] == Affinity(
        "", "", "N/A"
    )


def test_cells_glued_together() -> None:
    matrix = pasted(
        "GPU0     X      NV18    PXB     0-47,96-1430    N/A\n"
        "GPU1    NV18     X      SYSSYS     48-95,144-191   1   N/A\n"
    )
    assert matrix.affinities[0] == Affinity("0-47,96-143", "0", "N/A")
    assert matrix.affinities[1].numa == "1"
    assert pasted("GPU0     X      NV18    SYS0-35   0   N/A\n").affinities[0] == Affinity("", "", "")
    assert pasted("GPU0     X      NV18    SYS     0-47,96-1430    N/A\n").affinities[0] == Affinity("", "", "N/A")


def test_a_legend_names_the_nics_and_a_code_fence_does_not() -> None:
    matrix = parse_matrix(PLAIN + "\nNIC Legend:\n\n  NIC0: mlx5_bond_0```\n")
    assert matrix.nic_names == ("mlx5_bond_0",)
    older = pasted("GPU0     X      PIX     0-13    0\n", "        GPU0    mlx5_0  CPU Affinity    NUMA Affinity")
    assert (older.nics, older.nic_names) == (("mlx5_0",), ("mlx5_0",))


def test_glued_labels_cut_the_links() -> None:
    matrix = pasted(
        "GPU0     X      PXB     NODE    SYS     0-55    0       N/A\n",
        "        GPU0    NIC0    NIC1NIC2    NIC3    NIC4    CPU Affinity    NUMA Affinity   GPU NUMA ID",
    )
    assert matrix.links == {("GPU0", "GPU0"): "X", ("GPU0", "NIC0"): "PXB"}


def test_six_single_cpus_may_be_cut() -> None:
    assert Affinity("0,2,4,6,8,10", "0", "").cpus_cut
    assert not Affinity("0-5,7,9,11,13,15", "0", "").cpus_cut
    assert not Affinity("0,2", "0", "").cpus_cut


def test_distances_name_nics_by_the_legend() -> None:
    matrix = parse_matrix(PLAIN + "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_bond_0\n")
    assert distances(matrix) == (Link(0, 1, "NV18"), Link(0, "mlx5_bond_0", "PXB"), Link(1, "mlx5_bond_0", "SYS"))
    assert distances(parse_matrix(PLAIN))[1] == Link(0, "NIC0", "PXB")


def test_distances_of_older_drivers() -> None:
    text = "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\nGPU0\t X \tPHB\tPIX\t0-13\nGPU1\tPHB\t X \tNODE\t0-13\n"
    assert distances(parse_matrix(text)) == (Link(0, 1, "PHB"), Link(0, "mlx5_0", "PIX"), Link(1, "mlx5_0", "NODE"))
    assert distances(parse_matrix("No devices were found")) == ()
