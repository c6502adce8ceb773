from __future__ import annotations

from inventory.facts.base import Unknown, Why
from inventory.facts.host import FileSystem, Memory, NumaNode
from inventory.facts.numa import read_memory, read_numa
from tests.answered import Said, answers

NODE = "/sys/devices/system/node"
GRACE: dict[str, Said] = {
    "processor.node-cpus": f"{NODE}/node0/cpulist:0-71\n{NODE}/node10/cpulist:\n{NODE}/node2/cpulist:\n",
    "processor.node-memory": (
        "Node 0 MemTotal:  1000 kB\nNode 0 MemFree:  900 kB\n"
        "Node 2 MemTotal:  400 kB\nNode 2 MemFree:  390 kB\n"
        "Node 10 MemTotal:  0 kB\nNode 10 MemFree:  0 kB\n"
    ),
    "processor.memory": "MemTotal:   1400 kB\nMemFree:  1290 kB\nMemAvailable:   1300 kB\n",
}


def test_nodes_are_sorted_by_number_and_may_have_gaps() -> None:
    assert read_numa(answers(GRACE)) == (
        NumaNode(0, tuple(range(72)), 1000 * 1024),
        NumaNode(2, (), 400 * 1024),
        NumaNode(10, (), 0),
    )


def test_the_hbm_of_the_gpus_is_not_the_hosts_memory() -> None:
    got = answers(GRACE)
    assert read_memory(got, read_numa(got), ()) == Memory(1000 * 1024, 910 * 1024, 0)


def test_memory_that_no_node_lists_still_counts() -> None:
    """Some hypervisors plug memory in that no node shows."""
    got = answers({**GRACE, "processor.node-cpus": f"{NODE}/node0/cpulist:0-71\n"})
    memory = read_memory(got, read_numa(got), ())
    assert not isinstance(memory, Unknown)
    assert memory.total_bytes == 1400 * 1024


def test_without_nodes_memory_is_what_meminfo_says() -> None:
    got = answers({"processor.memory": "MemTotal: 8 kB\nMemFree: 5 kB\n"})
    numa = read_numa(got)
    assert isinstance(numa, Unknown)
    assert read_memory(got, numa, ()) == Memory(8 * 1024, 5 * 1024, 0)


def test_shared_memory_is_a_file_system_of_its_own() -> None:
    on_root = FileSystem("/dev/shm", "/", "overlay", 999, 9, None, writable=True)
    own = FileSystem("/dev/shm", "/dev/shm", "tmpfs", 64, 9, None, writable=True)
    got = answers(GRACE)
    for file_systems, expected in (((on_root,), 0), ((on_root, own), 64)):
        memory = read_memory(got, read_numa(got), file_systems)
        assert not isinstance(memory, Unknown)
        assert memory.shm_bytes == expected


def test_masks_of_old_kernels() -> None:
    numa = read_numa(answers({"processor.node-cpus": f"{NODE}/node0/cpumap:00000000,00000003\n"}))
    assert numa == (NumaNode(0, (0, 1), 0),)


def test_garbage_is_unreadable() -> None:
    assert read_memory(answers({"processor.memory": "what\n"}), (), ()) == Unknown(
        Why.UNREADABLE, "/proc/meminfo without MemTotal"
    )
