from __future__ import annotations

import pytest

from inventory.lab import profile, sysroot


def files(name: str) -> dict[str, str]:
    hardware = profile.load(name).hardware
    assert hardware is not None
    found = list(sysroot.files(hardware))
    assert len(dict(found)) == len(found)  # nothing is written twice
    return dict(found)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("", []), ("0", [0]), ("0-3", [0, 1, 2, 3]), ("0-1,8,10-11", [0, 1, 8, 10, 11])],
)
def test_cpu_lists_of_the_kernel(text: str, numbers: list[int]) -> None:
    assert sysroot.cpu_list(text) == numbers


def test_grace_has_one_thread_a_core() -> None:
    found = files("gb200")
    top = "sys/devices/system/cpu"
    assert found[f"{top}/online"] == "0-143\n"
    assert [found[f"{top}/cpu143/topology/{name}"] for name in ("physical_package_id", "core_id")] == ["1\n", "71\n"]
    assert found[f"{top}/cpu143/topology/thread_siblings_list"] == "143\n"


def test_threads_of_a_core_are_numbered_last_on_x86() -> None:
    found = files("h200")
    top = "sys/devices/system/cpu"
    assert found[f"{top}/cpu0/topology/thread_siblings_list"] == "0,112\n"
    assert found[f"{top}/cpu112/topology/thread_siblings_list"] == "0,112\n"
    pairs = {
        (found[f"{top}/cpu{n}/topology/physical_package_id"], found[f"{top}/cpu{n}/topology/core_id"])
        for n in range(224)
    }
    assert len(pairs) == 112


def test_memory_of_coherent_gpus_is_nodes_that_meminfo_counts() -> None:
    found = files("gb200")
    top = "sys/devices/system/node"
    assert found[f"{top}/node0/cpulist"] == "0-71\n"
    assert found[f"{top}/node2/cpulist"] == "\n"
    assert "Node 2 MemTotal:       192937984 kB\n" in found[f"{top}/node2/meminfo"]
    assert "Node 3 MemTotal:              0 kB\n" in found[f"{top}/node3/meminfo"]
    assert found["proc/meminfo"].startswith("MemTotal:       1775029248 kB\nMemFree:")
    assert found[f"{top}/node0/distance"].split()[:3] == ["10", "40", "80"]
    assert len(found[f"{top}/node33/distance"].split()) == 34


def test_processor_names_itself_as_the_kernel_writes_it() -> None:
    assert "model name\t: Intel(R) Xeon(R) Platinum 8480C\n" in files("h200")["proc/cpuinfo"]
    assert "CPU part\t: 0xd4f\n" in files("gb200")["proc/cpuinfo"]


def test_gpus_and_adapters_on_the_pci_bus() -> None:
    found = files("gb200")
    gpu = "sys/bus/pci/devices/0018:01:00.0"
    told = [found[f"{gpu}/{name}"] for name in ("class", "vendor", "device", "numa_node")]
    assert told == ["0x030200\n", "0x10de\n", "0x2941\n", "1\n"]
    assert found["sys/bus/pci/devices/0010:03:00.0/vendor"] == "0x15b3\n"
    assert found["sys/class/infiniband/mlx5_2/ports/1/state"] == "4: ACTIVE\n"
    assert found["sys/class/infiniband/mlx5_2/ports/1/link_layer"] == "InfiniBand\n"


def test_ports_have_gids_of_the_types_of_their_link() -> None:
    spark, tray = files("dgx-spark"), files("gb200")
    top = "sys/class/infiniband/rocep1s0f0/ports/1"
    assert [spark[f"{top}/gid_attrs/types/{index}"] for index in (0, 1)] == ["IB/RoCE v1\n", "RoCE v2\n"]
    assert spark[f"{top}/gids/1"] == "fe80:0000:0000:0000:0000:00ff:0000:0100\n"
    assert "sys/class/infiniband/mlx5_0/ports/1/gids/1" not in tray
    assert spark["sys/class/infiniband/rocep1s0f1/ports/1/state"] == "1: DOWN\n"
