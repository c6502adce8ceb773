"""Whatever the fleet: a plan that holds, or a refusal that names what is really wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from inventory.errors import BringupError, CheckFailed, Several
from inventory.facts.base import is_known
from inventory.facts.host import Gpus
from launch.catalogue.find import Catalogue
from launch.choosing.outline import outline
from launch.placing.usable import distance, unusable, worst
from launch.plans.document import Host, LaunchPlan
from launch.plans.make import plan_of, refuse_unfit
from launch.request import Request
from launch.vllm_args import check
from tests.fleets import KINDS, Fleet, fleets, host_facts, linked, one_gpu, vendor_of
from tests.unit.launch.gangs import hosts

OURS = Catalogue.of()
MODELS = ("gpt-oss-120b", "deepseek-v4-pro", "kimi-k3", "glm-5", "qwen3.5")
RUNS_ON = {
    "NVIDIA H200": MODELS,
    "NVIDIA GB200": MODELS[:4],
    "NVIDIA B300": MODELS[1:2],
    "AMD Instinct MI355X": MODELS[:1],
}
SLOW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def planned(fleet: Fleet, request: Request) -> LaunchPlan:
    made = outline(OURS.find(request.model), request, fleet.hosts, fleet.facts)
    return plan_of(made, fleet.facts)


@st.composite
def requests(draw: st.DrawFn, kind: str, count: int) -> Request:
    model = draw(st.sampled_from(RUNS_ON[kind]))
    nodes = draw(st.one_of(st.none(), st.none(), st.integers(1, count)))
    return Request(model, nodes=nodes)


@SLOW
@given(st.data())
def test_a_plan_holds_or_the_refusal_is_true(data: st.DataObject) -> None:
    fleet = data.draw(fleets())
    request = data.draw(requests(fleet.kind, len(fleet.hosts)))
    try:
        plan = planned(fleet, request)
    except BringupError as error:
        found = error.errors if isinstance(error, Several) else (error,)
        event(", ".join(sorted({one.id for one in found})))
        for one in found:
            the_refusal_is_true(one, fleet, request)
        return
    event(f"fits {plan.memory.fits}")
    every_rank_once(plan)
    gpus_are_usable_and_used_once(plan, fleet)
    links_are_as_short_as_can_be(plan, fleet)
    the_head_is_reached(plan, fleet)
    ranks_sit_on_nodes_with_cpus(plan)
    cores_suffice_or_it_is_refused(plan, fleet)
    assert plan.layout.expert_parallel in {1, plan.layout.tensor_parallel * plan.layout.data_parallel}
    assert len(plan.hosts) == (request.nodes or len(fleet.hosts))
    assert {host.name for host in plan.hosts} | {name for name, _ in plan.left_out} == set(fleet.facts)
    head = plan.head
    assert check(head.argv[1:], dict(head.env), plan.engine.vllm) == ()


def every_rank_once(plan: LaunchPlan) -> None:
    placed = [rank.index for _, rank in plan.ranks()]
    if plan.layout.hosts_per_rank > 1:
        assert placed == [0] * len(plan.hosts)
    else:
        assert placed == list(range(plan.layout.data_parallel))
    workers = {(gpu.rank, gpu.worker) for host in plan.hosts for gpu in host.gpus if gpu.rank is not None}
    width = plan.layout.tensor_parallel * plan.layout.pipeline_parallel
    assert workers == {(rank, worker) for rank in range(plan.layout.data_parallel) for worker in range(width)}


def gpus_are_usable_and_used_once(plan: LaunchPlan, fleet: Fleet) -> None:
    for host in plan.hosts:
        used = [gpu for rank in host.ranks for gpu in rank.gpus]
        assert len(used) == len(set(used))
        devices = {gpu.index: gpu for gpu in gpus_of(fleet, host.name).devices}
        assert all(not unusable(devices[index]) for index in used)
        visible = dict(host.env).get("CUDA_VISIBLE_DEVICES") or dict(host.env).get("HIP_VISIBLE_DEVICES")
        assert visible == (None if used == list(range(len(used))) else ",".join(map(str, used)))


def gpus_of(fleet: Fleet, name: str) -> Gpus:
    found = fleet.facts[name].gpus
    assert is_known(found)
    return found


def links_are_as_short_as_can_be(plan: LaunchPlan, fleet: Fleet) -> None:
    """Against every division of the usable GPUs there is, tried one by one."""
    for host in plan.hosts[:2]:
        gpus = gpus_of(fleet, host.name)
        width = len(host.ranks[0].gpus)
        if width == 1 or not gpus.links:
            continue
        far = {(one.gpu, one.to): distance(one.kind) for one in gpus.links if isinstance(one.to, int)}
        by_index = {gpu.index: gpu for gpu in gpus.devices}
        ours = worst([[by_index[index] for index in rank.gpus] for rank in host.ranks], far)
        free = [gpu.index for gpu in gpus.devices if not unusable(gpu)]
        best = min(
            worst([[by_index[index] for index in team] for team in teams], far)
            for teams in divisions(free, width, len(host.ranks))
        )
        assert ours == best


def divisions(free: list[int], width: int, count: int) -> list[list[tuple[int, ...]]]:
    if count == 0:
        return [[]]
    return [
        [team, *rest]
        for team in combinations(free, width)
        for rest in divisions([one for one in free if one not in team and one > team[0]], width, count - 1)
    ]


def the_head_is_reached(plan: LaunchPlan, fleet: Fleet) -> None:
    address = next(host.address for host in fleet.hosts if host.name == plan.head.name)
    for host in plan.hosts[1:]:
        network = fleet.facts[host.name].network
        assert is_known(network)
        assert address in {route.to for route in network.routes}


def ranks_sit_on_nodes_with_cpus(plan: LaunchPlan) -> None:
    for host in plan.hosts:
        with_cpus = {node.id for node in host.numa if node.cpus}
        assert {node.id for node in host.numa} > with_cpus, "the memory of a GPU is a node without CPUs"
        assert all(rank.numa_node is None or rank.numa_node in with_cpus for rank in host.ranks)
        assert set(host.pins.worker_nodes) <= with_cpus


def cores_suffice_or_it_is_refused(plan: LaunchPlan, fleet: Fleet) -> None:
    cores = {host.name: count for host, count in zip(fleet.hosts, fleet.cores, strict=True)}
    enough = all(cores[host.name] >= 2 + used_by(host) for host in plan.hosts)
    if plan.memory.fits is False:
        with pytest.raises(CheckFailed) as caught:
            refuse_unfit(plan)
        assert caught.value.id == "plan.vram_fit"
    elif enough:
        refuse_unfit(plan)
    else:
        with pytest.raises(CheckFailed) as caught:
            refuse_unfit(plan)
        assert caught.value.id == "cpu.physical_cores"
        assert f"2 + N = {2 + used_by(plan.head)}" in caught.value.required


def used_by(host: Host) -> int:
    return sum(len(rank.gpus) for rank in host.ranks)


def the_refusal_is_true(error: BringupError, fleet: Fleet, request: Request) -> None:
    """With what it complains of put right, and nothing else, it is not raised again."""
    assert error.observed
    assert error.required
    assert error.next_command
    relaxed = relaxations()[error.id](fleet, error)
    assert error.id not in refusals(relaxed, replace(request, nodes=None) if error.id == "strategy-none" else request)


def refusals(fleet: Fleet, request: Request) -> set[str]:
    try:
        planned(fleet, request)
    except BringupError as error:
        return {one.id for one in (error.errors if isinstance(error, Several) else (error,))}
    return set()


def relaxations() -> dict[str, Callable[[Fleet, BringupError], Fleet]]:
    return {
        "gpu.count": lambda fleet, _: rebuilt(fleet, kind=None, whole=True),
        "gpu.uniform": lambda fleet, _: rebuilt(fleet, kind=fleet.kind),
        "recipe.hardware": lambda fleet, _: rebuilt(fleet, kind=fleet.kind),
        "net.head_addr": lambda fleet, _: rebuilt(fleet, kind=None),
        "strategy-none": with_hosts_that_have_a_layout,
        "strategy-unsupported": with_hosts_that_divide_the_heads,
    }


def rebuilt(fleet: Fleet, *, kind: str | None, whole: bool = False) -> Fleet:
    """The same hosts with every route; `kind`: all of it; `whole`: with all their GPUs, and these well."""
    seen = {}
    for index, host in enumerate(fleet.hosts):
        gpus = gpus_of(fleet, host.name)
        if kind is not None or whole:
            wanted = kind or gpus.devices[0].name
            vendor = vendor_of(wanted)
            devices = tuple(one_gpu(at, wanted) for at in range(KINDS[wanted]))
            gpus = replace(gpus, vendor=vendor, devices=devices, links=linked("mesh", len(devices), vendor))
        seen[host.name] = host_facts(index, fleet.hosts, gpus, cores=fleet.cores[index])
    return Fleet(fleet.hosts, seen, fleet.kind, fleet.cores)


def resized(fleet: Fleet, count: int) -> Fleet:
    members = tuple(hosts(count))
    devices = tuple(one_gpu(at, fleet.kind) for at in range(KINDS[fleet.kind]))
    vendor = vendor_of(fleet.kind)
    gpus = Gpus(vendor, "580.82", None, devices, simulated=False, links=linked("mesh", len(devices), vendor))
    return Fleet(
        members,
        {host.name: host_facts(at, members, gpus) for at, host in enumerate(members)},
        fleet.kind,
        (144,) * count,
    )


def with_hosts_that_have_a_layout(fleet: Fleet, error: BringupError) -> Fleet:
    listed = error.required.rpartition(": ")[2]
    assert listed != "none", error
    return resized(fleet, int(re.split("[-,]", listed)[0]))


def with_hosts_that_divide_the_heads(fleet: Fleet, error: BringupError) -> Fleet:
    assert "does not divide" in error.observed
    return resized(fleet, 2)
