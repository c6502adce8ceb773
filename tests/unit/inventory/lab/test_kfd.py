"""What the lab writes of AMD's GPUs, read back as a host's."""

from __future__ import annotations

import pytest

from inventory.facts.base import Unknown
from inventory.facts.gpu.kfd import near_cpu_node, parse_gpu_links, parse_kfd, parse_nodes
from inventory.lab import kfd, profile


def said(name: str) -> str:
    """As `grep . FILES` prints them."""
    hardware = profile.load(name).hardware
    assert hardware is not None
    assert hardware.cards is not None
    files = kfd.files(hardware.cards, [node for node in hardware.nodes if node.cpus])
    return "".join(f"/{path}:{line}\n" for path, text in files for line in text.splitlines() if line)


@pytest.mark.parametrize(
    ("name", "count", "model", "gib", "gfx"),
    [("mi355x", 8, "AMD Instinct MI355X", 287, "gfx950"), ("mi300x-cpx", 64, "AMD Instinct MI300X", 23, "gfx942")],
)
def test_gpus(name: str, count: int, model: str, gib: int, gfx: str) -> None:
    answer = parse_kfd(said(name))
    assert not isinstance(answer, Unknown)
    assert {(gpu.name, (gpu.memory_bytes or 0) >> 30, gpu.gfx) for gpu in answer.gpus} == {(model, gib, gfx)}
    assert len(answer.gpus) == count
    assert [gpu.numa_node for gpu in answer.gpus] == [0] * (count // 2) + [1] * (count // 2)


def test_cards_that_are_whole_are_linked_to_all_others() -> None:
    text = said("mi355x")
    addresses = [node.pci_address for node in parse_nodes(text).values() if node.is_gpu]
    links = parse_gpu_links(text, addresses)
    assert (len(links), {link.kind for link in links}) == (28, {"XGMI"})


def test_a_partition_is_near_the_processor_of_its_card() -> None:
    nodes = parse_nodes(said("mi300x-cpx"))
    assert [near_cpu_node(nodes[number], nodes) for number in (2, 33, 34, 65)] == [0, 0, 1, 1]
    assert nodes[3].pci_address == "00000000:05:00.1"
    assert nodes[3].card == nodes[2].card != nodes[10].card
