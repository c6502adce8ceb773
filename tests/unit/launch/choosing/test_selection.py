"""Which hosts take part, and who is the head."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.errors import BadInput, CheckFailed
from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.host import GpuHealth, HostFacts, Route
from inventory.schema import Host
from launch.choosing.selection import clique_of, select
from tests.unit.launch.gangs import facts, gpus, hosts


def without_route(seen: dict[str, HostFacts], name: str, to: str) -> None:
    network = seen[name].network
    assert is_known(network)
    seen[name] = replace(seen[name], network=replace(network, routes=tuple(r for r in network.routes if r.to != to)))


def in_domain(one: HostFacts, cluster: str) -> HostFacts:
    assert is_known(one.gpus)
    health = GpuHealth(fabric_cluster=cluster, fabric_clique="1")
    return replace(one, gpus=replace(one.gpus, devices=tuple(replace(g, health=health) for g in one.gpus.devices)))


def test_all_hosts_in_their_order_where_nothing_forbids_it() -> None:
    trays = hosts(3)
    selected = select(trays, facts(trays, [4] * 3), None)
    assert selected.hosts == tuple(trays)
    assert selected.left_out == ()
    assert [one.decision for one in selected.reasons] == ["nodes", "head"]


def test_the_head_is_one_that_all_others_have_a_route_to() -> None:
    trays = hosts(3)
    seen = facts(trays, [4] * 3)
    without_route(seen, "tray3", "10.1.0.1")
    selected = select(trays, seen, None)
    assert [host.name for host in selected.hosts] == ["tray2", "tray1", "tray3"]
    reason = selected.reasons[-1]
    assert (reason.chosen, reason.numbers) == ("tray2", (("passed over", "tray1"),))
    assert reason.warns


def test_a_route_that_ends_at_the_host_itself_reaches_nobody() -> None:
    trays = hosts(2)
    seen = facts(trays, [4, 4])
    network = seen["tray2"].network
    assert is_known(network)
    looped = replace(network, routes=(Route("10.1.0.1", "lo", "127.0.0.1"),))
    seen["tray2"] = replace(seen["tray2"], network=looped)
    assert select(trays, seen, None).hosts[0].name == "tray2"


def test_no_host_that_all_reach_is_refused_with_who_misses_whom() -> None:
    trays = hosts(2)
    seen = facts(trays, [4, 4])
    without_route(seen, "tray1", "10.1.0.2")
    without_route(seen, "tray2", "10.1.0.1")
    with pytest.raises(CheckFailed) as caught:
        select(trays, seen, None)
    assert caught.value.id == "net.head_addr"
    assert "tray1 is not reached by tray2; tray2 is not reached by tray1" in caught.value.observed


def test_of_many_hosts_that_do_not_reach_each_other_a_few_are_named() -> None:
    trays = hosts(40)
    seen = facts(trays, [4] * 40)
    for tray in trays:
        for other in range(40):
            without_route(seen, tray.name, f"10.1.0.{other + 1}")
    with pytest.raises(CheckFailed) as caught:
        select(trays, seen, None)
    assert caught.value.observed.startswith("tray1 is not reached by tray[2-40]; ")
    assert caught.value.observed.endswith("; and 36 more alike")
    assert caught.value.next_command == "invoke probe --hosts 'tray[1-40]' --host-detail"


def test_unknown_network_facts_prove_no_missing_route() -> None:
    trays = hosts(2)
    seen = facts(trays, [4, 4])
    seen["tray2"] = replace(seen["tray2"], network=Unknown(Why.TIMED_OUT, "ip"))
    assert select(trays, seen, None).hosts == tuple(trays)


def test_more_nodes_than_hosts_names_both() -> None:
    trays = hosts(2)
    with pytest.raises(BadInput) as caught:
        select(trays, facts(trays, [4, 4]), 3)
    assert caught.value.id == "override-contradicts"
    assert "--nodes 3 (typed), and 2 host(s): tray1, tray2 (--hosts)" in caught.value.observed


@pytest.mark.parametrize(
    ("nodes", "taken"),
    [
        (1, ["tray2"]),
        (2, ["tray2", "tray4"]),
        (3, ["tray2", "tray3", "tray4"]),
        (4, ["tray1", "tray2", "tray3", "tray4"]),
    ],
)
def test_fewer_nodes_are_the_best_of_one_kind(nodes: int, taken: list[str]) -> None:
    trays = hosts(5)
    seen = facts(trays, [4, 8, 6, 8, 8], "NVIDIA H200")
    seen["tray5"] = replace(seen["tray5"], gpus=gpus(8, "NVIDIA B300"))
    # 8, 8 H200 first; then B300 alone is one host; then the H200 with whatever they have
    selected = select(trays, seen, nodes)
    assert [host.name for host in selected.hosts] == sorted(taken, key=lambda name: int(name[4:]))
    assert {name for name, _ in selected.left_out} == {host.name for host in trays} - set(taken)


def test_hosts_of_one_nvlink_domain_are_taken_together() -> None:
    trays = hosts(4)
    seen = facts(trays, [4] * 4)
    for name, cluster in (("tray1", "aa"), ("tray2", "bb"), ("tray3", "aa"), ("tray4", "bb")):
        seen[name] = in_domain(seen[name], cluster)
    selected = select(trays, seen, 2)
    assert [host.name for host in selected.hosts] == ["tray1", "tray3"]
    assert dict(selected.left_out)["tray2"] == "NVLink domain bb/1, the others aa/1"


def test_a_domain_is_told_by_all_gpus_or_by_none() -> None:
    (one,) = facts(hosts(1), [4]).values()
    assert clique_of(one) is None
    assert clique_of(in_domain(one, "c1")) == "c1/1"
    assert clique_of(in_domain(one, "00000000-0000-0000-0000-000000000000")) is None
    assert clique_of(replace(one, gpus=Unknown(Why.TIMED_OUT))) is None


def test_each_host_left_out_says_why() -> None:
    trays = [*hosts(3), Host(name="spare", address="10.1.0.9")]
    seen = facts(trays, [8, 8, 4, 8], "NVIDIA H200")
    selected = select(trays, seen, 2)
    assert dict(selected.left_out) == {
        "tray3": "it has 4 usable GPU(s), the others 8",
        "spare": "not needed: --nodes asks for fewer hosts",
    }
