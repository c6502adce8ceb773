"""The tree of a host in a plan: every device once, on its node, with the memory of each GPU to scale."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launch.console.tree import draw
from launch.placing.placement import Binding, Pins
from launch.plans.document import Host, MemoryPart, NumaNode
from launch.plans.host_tree import tree
from launch.plans.lines import lines
from launch.plans.memory_bar import SIGNS, WIDTH, bar, legend
from tests.unit.launch.plans.drawn import plan_on

H200 = plan_on("h200-hgx")
TRAY = plan_on("gb200-tray")
GB = 10**9
PARTS = (MemoryPart("weights", 60 * GB), MemoryPart("kv", 30 * GB), MemoryPart("outside", 10 * GB))


def drawn(host: Host, parts: tuple[MemoryPart, ...] = PARTS) -> list[str]:
    return list(draw(tree(host, parts)))


def test_every_device_is_drawn_once_on_its_node() -> None:
    said = drawn(H200.head)
    for gpu in H200.head.gpus:
        (at,) = [index for index, line in enumerate(said) if f"─ GPU {gpu.index} " in line]
        node = next(line for line in reversed(said[:at]) if "NUMA node" in line)
        assert f"NUMA node {gpu.numa_node}:" in node
    for nic in H200.head.nics:
        assert sum(f"─ NIC {nic.name} " in line for line in said) == 1


def test_the_text_of_a_plan_has_the_tree_and_the_meaning_of_its_signs() -> None:
    said = list(lines(H200))
    start = said.index(drawn(H200.head)[0])
    tree_lines = drawn(H200.head, H200.memory.parts)
    assert said[start : start + len(tree_lines)] == tree_lines
    assert f"  a GPU: {legend(H200.memory.parts)}" in said
    assert said[start + len(tree_lines)].startswith("  env "), "what can be copied is not drawn"


def test_nodes_on_which_nothing_hangs_are_one_line() -> None:
    said = drawn(TRAY.head)
    nodes = [line for line in said if "NUMA node" in line]
    assert len(nodes) < len(TRAY.head.numa) / 4
    told = " ".join(nodes)
    assert "NUMA nodes 2,10,18,26: no CPUs; 198.3 GB each" in told
    assert "no CPUs; no memory" in told


def test_one_node_without_cpus_says_its_size_once() -> None:
    host = replace(H200.head, numa=(*H200.head.numa, NumaNode(7, (), 5 * GB, (), ())))
    assert "├─ NUMA node 7: no CPUs; 5.0 GB" in drawn(host)


def test_devices_of_no_node_are_drawn() -> None:
    lost = replace(H200.head, gpus=tuple(replace(gpu, numa_node=None) for gpu in H200.head.gpus))
    said = drawn(lost)
    assert "├─ no NUMA node told" in said
    assert sum("─ GPU " in line for line in said) == 8
    bare = drawn(replace(lost, numa=(), nics=(), links=()))
    assert sum(line.startswith("├─ GPU ") for line in bare) == 8
    assert "├─ links between GPUs: not told" in bare


def test_an_unused_gpu_says_why_and_has_no_bar() -> None:
    spare = replace(H200.head.gpus[7], rank=None, worker=None, unused="broken: its driver asks for a reset")
    (line,) = [one for one in drawn(replace(H200.head, gpus=(*H200.head.gpus[:7], spare))) if "─ GPU 7 " in one]
    assert line.endswith("unused: broken: its driver asks for a reset")
    assert "[" not in line


def test_the_cores_of_a_worker_stand_with_its_gpu() -> None:
    pins = Pins(Binding.NUMA_BIND, workers=tuple((at, at + 112) for at in range(8)))
    said = drawn(replace(H200.head, pins=pins))
    assert next(line for line in said if "─ GPU 3 " in line).endswith("rank 3, worker 0, CPUs 3,115")
    assert said[-1].endswith("bound by numa-bind")


def test_a_nic_that_is_down_says_so() -> None:
    nic = replace(H200.head.nics[0], active=False)
    said = drawn(replace(H200.head, nics=(nic, *H200.head.nics[1:])))
    assert any(f"NIC {nic.name} ({nic.netdevs[0]}): down" in line for line in said)


@pytest.mark.parametrize(
    ("whole", "wanted"),
    [
        (100 * GB, "##############========.."),
        (None, "##############========.."),
        (200 * GB, "#######====............."),
    ],
)
def test_the_bar_is_to_scale_also_in_a_larger_gpu(whole: int | None, wanted: str) -> None:
    assert bar(PARTS, whole) == wanted


@pytest.mark.parametrize("weights", [0, 1, 33 * GB, 99 * GB, 100 * GB, 250 * GB])
def test_the_bar_is_always_as_wide(weights: int) -> None:
    parts = (MemoryPart("weights", weights), MemoryPart("kv", max(0, 100 * GB - weights)))
    assert len(bar(parts, 100 * GB)) == WIDTH


def test_what_goes_over_the_edge_is_marked() -> None:
    assert bar(PARTS, 100 * GB)[-1] == SIGNS["outside"]
    assert bar(PARTS, 80 * GB)[-1] == "!"
    assert not TRAY.memory.fits
    assert any(line.endswith("[#######################!]: rank 0, worker 0") for line in lines(TRAY))


def test_each_part_has_a_sign_of_its_own() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS)
    assert legend((MemoryPart("kv", 30 * GB),)) == "= kv 30.0 GB"
