"""Whatever the machine: cores are given once, whole, on the right node; and nothing is bound in two ways at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from inventory.facts.base import NOT_ASKED, Maybe
from inventory.facts.host import Cpu, Gpus, HostFacts, NumaBind, NumaNode, Software, System
from launch.building.command import Program, api_server_count, render
from launch.building.unit import UnitSettings, unit_file
from launch.placing.api_servers import api_servers_of
from launch.placing.pinning import settled
from launch.placing.place import Layout, place
from launch.placing.placement import Binding, LoadBalancing, Node, Placement
from launch.placing.processes import processes_of
from launch.vllm_args import check
from tests.unit.launch.gangs import facts, gpu, hosts
from tests.unit.launch.real_gangs import binds

V33 = "0.33.0"
ARGV = ("vllm", "serve", "org/model", "--numa-bind", "--numa-bind-nodes", "7", "7", "--max-num-seqs", "4")
PROGRAM = Program("/s/envs/e/bin/vllm", "/s/weights/m/c", "/s/caches", "model")
SYSTEM = System("debian", "12", "debian", "6.1", "x86_64", "b", "h", "root", 0, can_sudo=True, clock_offset_s=0.0)
SOFTWARE = Software("252", None, None, None, None, None, (), ())


@dataclass(frozen=True)
class Machine:
    """`nodes`: cores by node id; `threads` of each core; `memory_only`: ids of nodes without CPUs."""

    nodes: Mapping[int, int]
    threads: int
    memory_only: tuple[int, ...]
    allowed_cores: int  # of each node
    gpu_nodes: tuple[int, ...]
    numa_bind: Maybe[NumaBind]

    def facts(self, before: HostFacts) -> HostFacts:
        total, cores, numa = sum(self.nodes.values()), [], []
        first = 0
        for node, count in self.nodes.items():
            ids = range(first, first + count)
            first += count
            cpus = [tuple(core + total * thread for thread in range(self.threads)) for core in ids]
            cores += cpus[: self.allowed_cores]
            numa.append(NumaNode(node, tuple(sorted(cpu for core in cpus for cpu in core)), 1 << 38))
        numa += [NumaNode(node, (), 1 << 37, near=(next(iter(self.nodes)),)) for node in self.memory_only]
        allowed = tuple(sorted(cpu for core in cores for cpu in core))
        online = tuple(range(total * self.threads))
        cpu = Cpu("x", len(self.nodes), online, allowed, len(cores), total, cores=tuple(cores))
        devices = tuple(gpu(index, numa=node) for index, node in enumerate(self.gpu_nodes))
        gpus = Gpus("nvidia" if devices else "none", "580", "13.0", devices, simulated=False)
        return replace(
            before,
            cpu=cpu,
            numa=tuple(sorted(numa, key=lambda one: one.id)),
            gpus=gpus,
            numa_bind=self.numa_bind,
            system=SYSTEM,
            software=SOFTWARE,
        )


@st.composite
def machines(draw: st.DrawFn, ranks: int) -> Machine:
    ids = draw(st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True))
    nodes = {node: draw(st.integers(1, 24)) for node in ids}
    spare = draw(st.lists(st.integers(41, 60), max_size=3, unique=True))
    may = draw(st.lists(st.sampled_from(ids), unique=True))
    whole, part = binds(*ids), binds(*may, memory=False)
    tried: list[Maybe[NumaBind]] = [NOT_ASKED, NumaBind(numactl=False), whole, part]
    return Machine(
        nodes=nodes,
        threads=draw(st.sampled_from([1, 2, 4])),
        memory_only=tuple(spare),
        allowed_cores=draw(st.integers(1, 24)),
        gpu_nodes=tuple(draw(st.sampled_from(ids)) for _ in range(ranks)),
        numa_bind=draw(st.sampled_from(tried)),
    )


@st.composite
def gangs(draw: st.DrawFn) -> tuple[Placement, dict[str, HostFacts]]:
    count, width, per_host = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2])), draw(st.integers(1, 4))
    has_gpus = draw(st.booleans())
    spans = count if draw(st.booleans()) else 1
    layout = Layout(
        load_balancing=draw(st.sampled_from([LoadBalancing.INTERNAL, LoadBalancing.HYBRID])),
        tensor_parallel_size=width * spans,
        ranks_per_host=1 if spans > 1 else per_host,
        http_port=8000,
        rpc_port=13345,
        needs_gpus=has_gpus,
        hosts_per_rank=spans,
    )
    members = hosts(count)
    needed = layout.ranks_per_host * layout.width if has_gpus else 0
    seen = {name: draw(machines(needed)).facts(one) for name, one in facts(members, [needed] * count).items()}
    placement = place(members, seen, layout)
    systemd = {host.name: draw(st.booleans()) for host in members}
    return settled(placement, ARGV, {}, seen, version=V33, systemd=systemd), seen


def cores_of(seen: HostFacts) -> dict[int, tuple[int, ...]]:
    assert isinstance(seen.cpu, Cpu)
    return {cpu: core for core in seen.cpu.cores for cpu in core}


@given(gangs())
def test_no_cpu_twice_cores_whole_and_all_of_them_allowed(gang: tuple[Placement, dict[str, HostFacts]]) -> None:
    placement, seen = gang
    for node in placement.nodes:
        pins = node.pins
        shares = [*pins.workers, *pins.engine_cores, *pins.api_servers, *([pins.others] if pins.others else [])]
        cpus = [cpu for share in shares for cpu in share]
        core_of = cores_of(seen[node.host])
        assert len(cpus) == len(set(cpus))
        assert set(cpus) | set(pins.affinity) <= set(core_of)
        for share in [*shares, pins.affinity]:
            assert all(set(core_of[cpu]) <= set(share) for cpu in share), "the threads of a core stay together"
        assert all(shares), "nobody is left without a core"


@given(gangs())
def test_shares_are_for_exactly_the_processes_of_the_host(gang: tuple[Placement, dict[str, HostFacts]]) -> None:
    placement, seen = gang
    for node in placement.nodes:
        counts = processes_of(node, placement, api_servers=api_server_count(ARGV, node, placement))
        pins, core_of = node.pins, cores_of(seen[node.host])
        if pins.workers:
            assert len(pins.workers) == counts.workers
            assert len(pins.engine_cores) == counts.engine_cores
            assert len(pins.api_servers) == counts.api_servers
            others = {core_of[cpu] for cpu in pins.others}
            assert len(others) >= counts.launchers + counts.coordinators
            assert counts.total <= len(set(core_of.values()))


@given(gangs())
def test_workers_are_on_the_nodes_of_their_gpus_which_have_cpus(gang: tuple[Placement, dict[str, HostFacts]]) -> None:
    placement, seen = gang
    for node in placement.nodes:
        one = seen[node.host]
        assert isinstance(one.numa, tuple)
        assert isinstance(one.gpus, Gpus)
        by_id = {numa.id: numa for numa in one.numa}
        homes = {device.index: device.numa_node for device in one.gpus.devices}
        used = [index for rank in node.ranks for index in rank.gpus]
        if used and node.pins.worker_nodes:
            assert node.pins.worker_nodes == tuple(homes[index] for index in used)
        for worker, home in zip(node.pins.workers, node.pins.worker_nodes, strict=bool(node.pins.workers)):
            assert set(worker) <= set(by_id[home].cpus)
        assert all(by_id[home].cpus for home in (*node.pins.worker_nodes, *node.pins.memory_nodes))


@given(gangs())
def test_never_bound_twice_and_the_pinned_version_takes_it(gang: tuple[Placement, dict[str, HostFacts]]) -> None:
    placement, seen = gang
    for node in placement.nodes:
        command = render(ARGV, {}, node=node, placement=placement, program=PROGRAM)
        settings = UnitSettings("d", "g", "/s/d/g", "root", command.affinity, command.memory_nodes)
        in_unit = "CPUAffinity=" in unit_file(settings) or "NUMAPolicy=" in unit_file(settings)
        by_vllm = "--numa-bind" in command.argv
        assert by_vllm == (node.pins.binding is Binding.NUMA_BIND)
        assert in_unit == (node.pins.binding is Binding.UNIT)
        assert not (in_unit and by_vllm)
        assert check(command.argv[1:], dict(command.env), V33) == ()
        probed = seen[node.host].numa_bind
        if by_vllm:
            assert isinstance(probed, NumaBind)
            assert set(node.pins.worker_nodes) <= set(probed.cpu)


@given(gangs())
def test_the_core_rule_holds_or_is_said_not_to(gang: tuple[Placement, dict[str, HostFacts]]) -> None:
    placement, seen = gang
    for node in placement.nodes:
        count, why = api_servers_of(bare(node), placement, ("vllm", "serve", "m"), seen[node.host])
        if count is None:
            assert not node.serves
            continue
        cpu = seen[node.host].cpu
        assert isinstance(cpu, Cpu)
        total = processes_of(node, placement, api_servers=count).total
        assert total <= cpu.physical_cores or (count == 1 and why is not None and why.warns)


def bare(node: Node) -> Node:
    return replace(node, api_servers=None)
