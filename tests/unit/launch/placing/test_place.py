from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import CheckFailed, Several
from inventory.facts.base import Unknown, Why
from inventory.schema import Host
from launch.placing.place import Layout, place
from launch.placing.placement import LoadBalancing
from tests.unit.launch.gangs import facts, gpu, gpus, hosts

HYBRID = Layout(LoadBalancing.HYBRID, 1, 4, 8000, 13345, needs_gpus=True)
DENSE = Layout(LoadBalancing.INTERNAL, 1, 1, 8000, 13345, needs_gpus=False)


def test_two_trays_make_eight_ranks_starting_at_zero_and_four() -> None:
    trays = hosts(2)
    placement = place(trays, facts(trays, [4, 4]), HYBRID)
    assert placement.data_parallel_size == 8
    assert [node.start_rank for node in placement.nodes] == [0, 4]
    assert [rank.gpus for rank in placement.head.ranks] == [(0,), (1,), (2,), (3,)]
    assert all(node.serves for node in placement.nodes)


def test_cpu_hosts_with_one_rank_each_are_internal_with_a_headless_follower() -> None:
    trays = hosts(2)
    placement = place(trays, facts(trays, [0, 0]), DENSE)
    assert placement.load_balancing is LoadBalancing.INTERNAL
    assert [node.serves for node in placement.nodes] == [True, False]
    assert [(node.address, node.interface) for node in placement.nodes] == [
        ("10.1.0.1", "eth0"),
        ("10.1.0.2", "eth0"),
    ]


def test_one_host_with_one_rank_needs_no_load_balancing_and_no_network() -> None:
    (tray,) = hosts(1)
    placement = place([tray], facts([tray], [0]), DENSE)
    assert placement.load_balancing is LoadBalancing.NONE
    assert placement.head.address == "127.0.0.1"


def test_hybrid_with_one_rank_a_host_would_be_switched_by_vllm_and_is_not_left_to_it() -> None:
    trays = hosts(2)
    placement = place(trays, facts(trays, [1, 1]), replace(HYBRID, ranks_per_host=1))
    assert placement.load_balancing is LoadBalancing.INTERNAL


def test_the_fabric_of_the_inventory_wins() -> None:
    trays = [Host(name=h.name, address=h.address, fabric_interface="fab0") for h in hosts(2)]
    placement = place(trays, facts(trays, [4, 4]), HYBRID)
    assert [(n.address, n.interface) for n in placement.nodes] == [("10.2.0.1", "fab0"), ("10.2.0.2", "fab0")]
    trays = [Host(name=h.name, address=h.address, fabric_address=f"10.2.0.{i + 1}") for i, h in enumerate(hosts(2))]
    placement = place(trays, facts(trays, [4, 4]), HYBRID)
    assert [(n.address, n.interface) for n in placement.nodes] == [("10.2.0.1", "fab0"), ("10.2.0.2", "fab0")]


@pytest.mark.parametrize(
    ("counts", "ids"),
    [([4, 3], {"gpu.count"}), ([0, 4], {"gpu.count"}), ([0, 0], {"gpu.count"})],
)
def test_gpus_that_do_not_fit_are_refused_with_the_host(counts: list[int], ids: set[str]) -> None:
    trays = hosts(2)
    with pytest.raises((CheckFailed, Several)) as caught:
        place(trays, facts(trays, counts), HYBRID)
    errors = caught.value.errors if isinstance(caught.value, Several) else (caught.value,)
    assert {error.id for error in errors} == ids
    assert all(error.observed and error.required and error.next_command and error.host for error in errors)


def test_unknown_gpus_are_not_zero_gpus() -> None:
    trays = hosts(1)
    seen = facts(trays, [4])
    seen["tray1"] = replace(seen["tray1"], gpus=Unknown(Why.TIMED_OUT, "nvidia-smi"))
    with pytest.raises(CheckFailed, match="unknown"):
        place(trays, seen, HYBRID)


def test_a_gpu_in_mig_mode_is_no_gpu_for_a_rank() -> None:
    trays = hosts(1)
    seen = facts(trays, [4])
    cut = replace(gpus(4), devices=(gpu(0, mig=True), *gpus(4).devices[1:]))
    seen["tray1"] = replace(seen["tray1"], gpus=cut)
    three = replace(HYBRID, ranks_per_host=3)
    assert [rank.gpus for rank in place(trays, seen, three).head.ranks] == [(1,), (2,), (3,)]
    with pytest.raises(CheckFailed, match="too few"):
        place(trays, seen, HYBRID)


def test_no_address_is_refused_not_guessed() -> None:
    trays = hosts(2)
    seen = facts(trays, [4, 4])
    for name in seen:
        network = seen[name].network
        assert not isinstance(network, Unknown)
        seen[name] = replace(seen[name], network=replace(network, routes=()))
    with pytest.raises(CheckFailed, match="no address"):
        place(trays, seen, HYBRID)


def test_one_rank_over_hosts_takes_its_share_of_each() -> None:
    trays = hosts(2)
    layout = replace(HYBRID, tensor_parallel_size=4, pipeline_parallel_size=2, ranks_per_host=1, hosts_per_rank=2)
    placement = place(trays, facts(trays, [4, 4]), layout)
    assert placement.load_balancing is LoadBalancing.NONE
    assert placement.data_parallel_size == 1
    assert [[rank.index for rank in node.ranks] for node in placement.nodes] == [[0], [0]]
    assert [node.ranks[0].gpus for node in placement.nodes] == [(0, 1, 2, 3), (0, 1, 2, 3)]
    assert [node.serves for node in placement.nodes] == [True, False]
    assert [placement.engine_cores(node) for node in placement.nodes] == [1, 0]
    assert "1 rank over 2 hosts, TP 4 x PP 2" in placement.reasons[0].chosen
    with pytest.raises((CheckFailed, Several)):
        place(trays, facts(trays, [4, 3]), layout)


@given(st.integers(1, 16), st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 2, 4]))
def test_every_rank_is_placed_once_and_no_gpu_twice(count: int, per_host: int, gpu_count: int, width: int) -> None:
    trays = hosts(count)
    layout = replace(HYBRID, tensor_parallel_size=width, ranks_per_host=per_host)
    seen = facts(trays, [gpu_count] * count)
    if per_host * width > gpu_count:
        with pytest.raises((CheckFailed, Several)):
            place(trays, seen, layout)
        return
    placement = place(trays, seen, layout)
    ranks = [rank.index for node in placement.nodes for rank in node.ranks]
    assert ranks == list(range(placement.data_parallel_size))
    for node in placement.nodes:
        used = [index for rank in node.ranks for index in rank.gpus]
        assert used == list(range(per_host * width))
