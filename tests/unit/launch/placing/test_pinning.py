"""Where processes of real hosts are pinned, by what, and what is said where they are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Cpu, Gpus, HostFacts, NumaBind, NumaNode
from inventory.schema import Host
from launch.building.command import render
from launch.placing.pinning import pin
from launch.placing.place import Layout, place
from launch.placing.placement import Binding, LoadBalancing, Pins
from launch.planned.wanted import Wanted
from launch.request import Request
from launch.vllm_args import check
from tests.unit.launch.real_gangs import PROGRAM, binds, decided, gang, reason, words

PRO = Request(model="deepseek-v4-pro")
GLM = Request(model="glm-5")


def pins(request: Request, members: list[Host], seen: dict[str, HostFacts]) -> Pins:
    return decided(request, members, seen).placement.head.pins


def known(seen: dict[str, HostFacts]) -> tuple[Cpu, tuple[NumaNode, ...], Gpus]:
    one = next(iter(seen.values()))
    assert not isinstance(one.cpu, Unknown)
    assert not isinstance(one.numa, Unknown)
    assert not isinstance(one.gpus, Unknown)
    return one.cpu, one.numa, one.gpus


def with_facts(seen: dict[str, HostFacts], **changed: object) -> dict[str, HostFacts]:
    return {name: replace(one, **changed) for name, one in seen.items()}  # type: ignore[arg-type]


def test_trays_are_bound_by_vllm_with_the_nodes_that_have_cpus() -> None:
    members, seen = gang("gb200-tray", 2, binds(0, 1))
    decision = decided(PRO, members, seen)
    for host, node in enumerate(decision.placement.nodes):
        assert " --numa-bind --numa-bind-nodes 0 0 1 1 --numa-bind-cpus 48-59 60-71 120-131 132-143 " in words(
            decision, host
        )
        assert node.pins.binding is Binding.NUMA_BIND
        assert (node.pins.affinity, node.pins.memory_nodes) == ((), ()), "never both"
        assert check(decision.commands[host].argv[1:], dict(decision.commands[host].env), "0.33.0") == ()
    assert "every node is said" in reason(decision, "pinning of tray2")


def test_memory_nodes_of_gpus_are_never_bound_to() -> None:
    members, seen = gang("gb200-tray", 1, binds(0, 1))
    _, nodes, _ = known(seen)
    hbm = {node.id for node in nodes if not node.cpus}
    assert hbm, "the tray shows the GPUs' memory as nodes"
    assert not hbm & set(pins(PRO, members, seen).worker_nodes)
    unbound = pins(Request(model="gpt-oss-120b"), *gang("gb200-tray", 1))
    assert unbound.memory_nodes == (0,)


def test_two_sockets_with_threads_keep_the_threads_of_a_core_together() -> None:
    members, seen = gang("h200-hgx", 1, binds(0, 1))
    found = pins(GLM, members, seen)
    cpu, nodes, _ = known(seen)
    assert found.worker_nodes == (0, 0, 0, 0, 1, 1, 1, 1)
    for worker, node in zip(found.workers, found.worker_nodes, strict=True):
        assert set(worker) <= set(nodes[node].cpus)
        assert all(set(core) <= set(worker) for core in cpu.cores if set(core) & set(worker))


@pytest.mark.parametrize(
    ("known_of_it", "said"),
    [
        (Unknown(Why.NOT_ASKED), "nobody has tried"),
        (NumaBind(numactl=False), "no numactl"),
        (binds(0), "CPUs of node 1"),
        (binds(), "CPUs of node 0"),
    ],
)
def test_where_numactl_may_not_bind_vllm_is_not_asked_to(known_of_it: NumaBind | Unknown, said: str) -> None:
    decision = decided(GLM, *gang("h200-hgx", 1, known_of_it))
    assert "numa-bind" not in words(decision)
    assert decision.placement.head.pins.binding is not Binding.NUMA_BIND
    assert said in reason(decision, "pinning of tray1")


def test_memory_that_may_not_be_bound_is_said_and_cpus_still_are() -> None:
    decision = decided(GLM, *gang("h200-hgx", 1, binds(0, 1, memory=False)))
    assert "--numa-bind" in words(decision)
    assert "memory it may not bind" in reason(decision, "pinning of tray1")


def pinned_directly(kind: str, numa_bind: NumaBind, *, ranks: int, gpus: bool = True) -> tuple[Pins, str]:
    """Without a recipe: `ranks` of one GPU each, or of one worker."""
    members, seen = gang(kind, 1, numa_bind)
    placement = place(members, seen, Layout(LoadBalancing.INTERNAL, 1, ranks, 8000, 13345, needs_gpus=gpus))
    facts = seen["tray1"]
    found, reasons = pin(placement.head, placement, facts, {}, api_servers=1, version="0.33.0", systemd=True)
    return found, "\n".join(map(str, reasons))


def test_one_node_in_use_is_what_the_unit_is_held_to() -> None:
    decision = decided(Request(model="gpt-oss-120b"), *gang("gb200-tray", 1))
    found = decision.placement.head.pins
    assert found.binding is Binding.UNIT
    assert (found.affinity, found.memory_nodes) == (tuple(range(72)), (0,))
    assert found.workers == (), "nothing would hold a worker to a share"
    assert (decision.commands[0].affinity, decision.commands[0].memory_nodes) == (found.affinity, found.memory_nodes)
    assert "CPUAffinity=0-71; NUMAPolicy=bind, NUMAMask=0" in reason(decision, "pinning of tray1")


def test_gpus_in_no_order_of_nodes() -> None:
    found, _ = pinned_directly("l40s-4x", binds(0, 1, 2, 3), ranks=4)
    assert found.worker_nodes == (3, 1, 2, 2)
    unbound, why = pinned_directly("l40s-4x", NumaBind(numactl=False), ranks=4)
    assert unbound.binding is Binding.UNIT
    assert "the nodes that have CPUs and whose GPUs are used" in why
    _, nodes, _ = known(gang("l40s-4x", 1)[1])
    assert unbound.affinity == tuple(sorted(cpu for node in nodes[1:] for cpu in node.cpus))
    assert unbound.memory_nodes == (1, 2, 3)


def test_a_process_group_can_hold_nobody_and_says_so() -> None:
    members, seen = gang("gb200-tray", 1)
    _, _, _ = known(seen)
    one = seen["tray1"]
    assert not isinstance(one.software, Unknown)
    seen = with_facts(seen, software=replace(one.software, systemd=None))
    decision = decided(Request(model="gpt-oss-120b"), members, seen)
    assert decision.placement.head.pins.binding is Binding.NONE
    assert "plain process group" in reason(decision, "pinning of tray1")


def test_an_old_systemd_has_no_numa_policy() -> None:
    members, seen = gang("gb200-tray", 1)
    one = seen["tray1"]
    assert not isinstance(one.software, Unknown)
    seen = with_facts(seen, software=replace(one.software, systemd="239 (239-82.el8)"))
    found = pins(Request(model="gpt-oss-120b"), members, seen)
    assert (found.affinity[-1], found.memory_nodes) == (71, ())


def test_too_few_cores_are_shared_and_that_is_said() -> None:
    members, seen = gang("gb200-tray", 1, binds(0, 1))
    cpu, nodes, _ = known(seen)
    few = replace(cpu, allowed=(0, 1, 72), cores=((0,), (1,), (72,)), physical_cores=3)
    decision = decided(PRO, members, with_facts(seen, cpu=few))
    assert "--numa-bind-nodes 0 0 1 1" in words(decision)
    assert "--numa-bind-cpus" not in words(decision)
    said = reason(decision, "pinning of tray1")
    assert "processes share cores" in said
    assert "cores of node 0 2" in said
    assert len(nodes) > 2


def test_the_fast_cores_of_a_processor_are_left_to_vllm() -> None:
    members, seen = gang("h200-hgx", 1, binds(0, 1))
    cpu, _, _ = known(seen)
    decision = decided(GLM, members, with_facts(seen, cpu=replace(cpu, model="Intel(R) Xeon(R) 6776P")))
    assert "--numa-bind-nodes" in words(decision)
    assert "--numa-bind-cpus" not in words(decision)
    assert "fast cores" in reason(decision, "pinning of tray1")


def test_a_gpu_of_unknown_node_is_bound_to_nothing() -> None:
    members, seen = gang("h200-hgx", 1, binds(0, 1))
    _, _, gpus = known(seen)
    lost = replace(gpus, devices=(replace(gpus.devices[0], numa_node=None), *gpus.devices[1:]))
    decision = decided(GLM, members, with_facts(seen, gpus=lost))
    assert decision.placement.head.pins == Pins()
    assert "the NUMA node of a GPU is unknown" in reason(decision, "pinning of tray1")


def test_unknown_cpus_pin_nothing() -> None:
    members, seen = gang("h200-hgx", 1, binds(0, 1))
    decision = decided(GLM, members, with_facts(seen, cpu=Unknown(Why.TIMED_OUT)))
    assert decision.placement.head.pins == Pins()
    assert "unknown" in reason(decision, "pinning of tray1")


def test_workers_of_the_cpu_build_have_threads_apart_from_the_others() -> None:
    found, why = pinned_directly("cpu-only", NumaBind(numactl=False), ranks=2, gpus=False)
    assert found.binding is Binding.THREADS
    assert found.workers == ((4, 5), (6, 7))
    assert "a thread on each of their cores" in why
    members, seen = gang("cpu-only", 1)
    placement = place(members, seen, Layout(LoadBalancing.INTERNAL, 1, 2, 8000, 13345, needs_gpus=False))
    node = replace(placement.head, pins=found)
    placement = replace(placement, nodes=(node,))
    command = render(("vllm", "serve", "m"), {}, node=node, placement=placement, program=PROGRAM)
    assert dict(command.env)["VLLM_CPU_OMP_THREADS_BIND"] == "4,5|6,7"


def test_a_core_with_two_threads_computes_with_one() -> None:
    found, _ = pinned_directly("h200-hgx", NumaBind(numactl=False), ranks=2, gpus=False)
    assert [len(cpus) for cpus in found.workers] == [2 * len(cpus) for cpus in found.threads]
    cpu, nodes, _ = known(gang("h200-hgx", 1)[1])
    assert {max(core) for core in cpu.cores} >= {one for cpus in found.threads for one in cpus}
    assert set(found.threads[1]) <= set(nodes[1].cpus), "a worker for each node"


def test_threads_that_the_recipe_sets_stay() -> None:
    decision = decided(Request(model="tiny-dense"), *gang("cpu-only", 1))
    assert dict(decision.commands[0].env)["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"
    assert "as the recipe says" in reason(decision, "pinning of tray1")


def test_more_workers_than_cores_leave_the_threads_to_vllm() -> None:
    found, why = pinned_directly("cpu-only", NumaBind(numactl=False), ranks=4, gpus=False)
    assert found.binding is Binding.NONE
    assert "processes share cores" in why
    assert "is left alone" in why


def test_pinning_can_be_switched_off() -> None:
    members, seen = gang("gb200-tray", 1, binds(0, 1))
    decision = decided(replace(PRO, wanted=Wanted(pins=False)), members, seen)
    assert "numa" not in words(decision)
    assert decision.placement.head.pins == Pins()
    assert "asked for" in reason(decision, "pinning")


def test_api_servers_are_as_many_as_the_cores_bear() -> None:
    members, seen = gang("h200-hgx", 1, binds(0, 1))
    cpu, _, _ = known(seen)
    for cores, expected in ((112, 8), (26, 8), (22, 4), (18, 1), (4, 1)):
        decision = decided(PRO, members, with_facts(seen, cpu=replace(cpu, physical_cores=cores)))
        assert f"--api-server-count {expected}" in words(decision), cores
        assert decision.api_servers == {"tray1": expected}
    assert "even one leaves processes without a core" in reason(decision, "API servers of tray1")
