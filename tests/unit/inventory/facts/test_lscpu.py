from __future__ import annotations

import pytest

from inventory.facts.host import NumaNode
from inventory.facts.lscpu import Lscpu, parse_lscpu
from inventory.facts.numactl import parse_numactl

EPYC = """Architecture:          x86_64
CPU(s):                8
On-line CPU(s) list:   0-5
Off-line CPU(s) list:  6,7
Model name:            AMD EPYC 9554
Thread(s) per core:    2
Core(s) per socket:    2
Socket(s):             2
Hypervisor vendor:     KVM
NUMA node(s):          3
NUMA node0 CPU(s):     0-3
NUMA node1 CPU(s):     4-7
NUMA node2 CPU(s):
"""


def test_what_it_says() -> None:
    assert parse_lscpu(EPYC) == Lscpu(
        architecture="x86_64",
        model="AMD EPYC 9554",
        hypervisor="KVM",
        cpus=8,
        online="0-5",
        offline="6,7",
        threads_per_core=2,
        cores_per_socket=2,
        sockets=2,
        cores=4,
        numa_node_count=3,
        numa_nodes={0: "0-3", 1: "4-7", 2: ""},
    )
    assert parse_lscpu(EPYC).online_count == 6
    assert parse_lscpu(EPYC).nodes_without_cpus == (2,)


@pytest.mark.parametrize(
    ("text", "sockets", "cores"),
    [
        # s390 counts sockets in a book, books in a drawer.
        ("Core(s) per socket: 1\nSocket(s) per book: 1\nBook(s): 3\n", 3, 3),
        ("Core(s) per socket: 1\nSocket(s) per book: 1\nBook(s) per drawer: 1\nDrawer(s): 2\n", 2, 2),
        # big.LITTLE repeats the section for each type of CPU.
        (
            "Core(s) per socket: 10\nSocket(s): 1\nModel name: B\nCore(s) per socket: 10\nSocket(s): 1\n",
            1,
            20,
        ),
        # Arm boards without package ids.
        ("Core(s) per cluster: 4\nSocket(s): -\nCluster(s): 2\n", None, 8),
        ("Core(s) per socket: 0\nSocket(s): 0\n", 0, None),
        ("", None, None),
    ],
)
def test_sockets_and_cores_of_the_machine(text: str, sockets: int | None, cores: int | None) -> None:
    told = parse_lscpu(text)
    assert (told.sockets, told.cores) == (sockets, cores)


def test_a_part_of_it_indented() -> None:
    told = parse_lscpu("NUMA:      \n  NUMA node(s):        2\n  NUMA node0 CPU(s):   0-71\n  NUMA node1 CPU(s):   \n")
    assert (told.numa_node_count, told.numa_nodes, told.online) == (2, {0: "0-71", 1: ""}, None)


def test_numactl() -> None:
    text = (
        "available: 3 nodes (0-2)\n"
        "node 0 cpus: 0 1 2\n3 4 5\n"  # hard-wrapped
        "node 0 size: 64 MB\n"
        "node 1 cpus: 6-9 (4)\n"  # compressed
        "node 1 size: 32 MB\nnode 1 free: 1 MB\n"
        "node 2 cpus:\nnode 2 size: 16 MB\n"
        "node distances:\nnode   0   1   2\n  0:  10  20 30\n"
    )
    assert parse_numactl(text) == (
        NumaNode(0, (0, 1, 2, 3, 4, 5), 64 << 20),
        NumaNode(1, (6, 7, 8, 9), 32 << 20),
        NumaNode(2, (), 16 << 20),
    )
    assert parse_numactl("No NUMA available on this system\n") == ()
