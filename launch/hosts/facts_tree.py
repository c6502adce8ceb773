"""One host in full, as a drawn tree: what lies on which NUMA node, then everything that belongs to none. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from inventory.facts.base import Maybe, Unknown, is_known
from launch.console.sizes import cpu_set, size
from launch.console.tree import Branch
from launch.hosts.remarks import remarks

if TYPE_CHECKING:
    from inventory.facts.host import (
        Block,
        Fabric,
        FileSystem,
        Gpu,
        Gpus,
        HostFacts,
        Interface,
        LaunchContext,
        Limit,
        Limits,
        Network,
        NumaNode,
        RdmaDevice,
        RunningDeployment,
        SecondOpinion,
        Software,
        System,
    )

T = TypeVar("T")


def tree(facts: HostFacts) -> Branch:
    return Branch(
        facts.host + (" (simulated)" if facts.simulated else ""),
        (
            *_leaves("finding: ", remarks(facts)),
            *_branch("system", facts.system, _system),
            *_branch("limits of the login", facts.limits, _limits),
            *_branch("where ranks start", facts.context, _context),
            *_branch("processor", facts.cpu, lambda _: _processor(facts)),
            *_branch("memory", facts.memory, lambda memory: _memory(facts, memory.available_bytes)),
            *_nodes(facts),
            *_branch("gpus", facts.gpus, lambda gpus: _driver(gpus, facts.numa)),
            *_branch("fabric", facts.fabric, _fabric),
            *_branch("network", facts.network, _network),
            *_branch("rdma", facts.rdma, lambda devices: (_rdma(one) for one in _homeless(devices))),
            *_branch("file systems", facts.file_systems, lambda many: (Branch(_file_system(one)) for one in many)),
            *_branch("block devices", facts.blocks, _blocks),
            *_branch("software", facts.software, _software),
            *_branch("second opinion", facts.second_opinion, _opinion),
            *_branch("deployments", facts.deployments, lambda many: (Branch(_deployment(one)) for one in many)),
        ),
    )


def _branch(title: str, fact: Maybe[T], twigs: Callable[[T], Iterable[Branch]]) -> Iterator[Branch]:
    """A branch with its twigs, one that says why it has none, or nothing where there is nothing to say."""
    if isinstance(fact, Unknown):
        if fact.why != "not-asked":
            yield Branch(f"{title}: {fact}")
        return
    found = tuple(twigs(fact))
    if found:
        yield Branch(title, found)


def _leaves(title: str, texts: Iterable[str]) -> Iterator[Branch]:
    return (Branch(title + text) for text in texts if text)


def _system(system: System) -> Iterator[Branch]:
    yield from _leaves("", (system.machine, f"virtual, by {system.hypervisor}" if system.hypervisor else ""))
    yield Branch(f"{system.id} {system.version}, kernel {system.kernel}, {system.architecture}")
    yield Branch(f"boot {system.boot_id}, clock {system.clock_offset_s:+.2f} s")
    yield Branch(f"{system.user} ({system.uid}) on {system.hostname}, {'sudo' if system.can_sudo else 'no sudo'}")


def _limits(limits: Limits) -> Iterator[Branch]:
    yield Branch(f"locked memory {_limit(limits.locked_memory, size)}, core files {_limit(limits.core_file, size)}")
    yield Branch(f"open files {_limit(limits.open_files, str)}, processes {_limit(limits.processes, str)}")


def _context(context: LaunchContext) -> Iterator[Branch]:
    as_whom = f"as {context.user} in {context.cgroup or 'no group that is told'}"
    yield Branch(f"{context.where.replace('-', ' ')}, {as_whom}")
    if is_known(context.cpus_allowed) and is_known(context.physical_cores):
        yield Branch(f"{context.physical_cores} physical cores, CPUs {cpu_set(context.cpus_allowed)}")
    if is_known(context.locked_memory) and is_known(context.open_files):
        open_files = _limit(context.open_files, str)
        yield Branch(f"locked memory {_limit(context.locked_memory, size)}, open files {open_files}")
    if is_known(context.memory_maximum) and context.memory_maximum is not None:
        yield Branch(f"memory at most {size(context.memory_maximum)}")
    if is_known(context.devices):
        denied = ", ".join(one.path for one in context.devices if not one.opens)
        yield from _leaves("may not open ", (denied,))
    if is_known(context.environment):
        yield from (Branch(f"{name}={value}") for name, value in context.environment)


def _limit(limit: Limit, shown: Callable[[int], str]) -> str:
    soft, hard = ("unlimited" if one is None else shown(one) for one in (limit.soft, limit.hard))
    return soft if soft == hard else f"{soft} (at most {hard})"


def _processor(facts: HostFacts) -> Iterator[Branch]:
    if not is_known(facts.cpu):
        return
    cpu = facts.cpu
    yield Branch(f"{cpu.sockets}x {cpu.model or 'unnamed'}")
    yield Branch(f"{cpu.physical_cores_machine} physical cores, CPUs {cpu_set(cpu.online)}")
    yield Branch(f"{cpu.physical_cores} may be used, CPUs {cpu_set(cpu.allowed)}")
    if is_known(facts.cpu_flags):
        wide = [flag for flag in facts.cpu_flags if flag.startswith(("avx", "amx", "sve", "bf16", "i8mm"))]
        yield Branch(f"{len(facts.cpu_flags)} flags: {' '.join(wide)}")


def _memory(facts: HostFacts, available: int) -> Iterator[Branch]:
    if is_known(facts.memory):
        yield Branch(f"{size(facts.memory.total_bytes)}, {size(available)} available")
        yield Branch(f"shared memory {size(facts.memory.shm_bytes)}")
    if is_known(facts.huge_pages):
        pages = facts.huge_pages
        of = f" of {size(pages.size_bytes)}, {pages.free} free" if pages.total else ""
        yield Branch(f"huge pages: {pages.total or 'none'}{of}; transparent: {pages.transparent or 'unknown'}")
        yield from (
            Branch(f"huge pages: {one.total} of {size(one.size_bytes)}, {one.free} free") for one in pages.others
        )


def _nodes(facts: HostFacts) -> Iterator[Branch]:
    if not is_known(facts.numa):
        yield Branch(f"NUMA nodes: {facts.numa}")
        return
    empty = [node.id for node in facts.numa if not node.cpus and not node.memory_bytes]
    for node in facts.numa:
        if node.id in empty:
            continue
        twigs = (
            *(Branch(_gpu(one), _holders(one)) for one in _gpus(facts.gpus) if one.numa_node == node.id),
            *(_rdma(one) for one in _devices(facts.rdma) if one.numa_node == node.id),
        )
        yield Branch(_node(node), twigs)
    if empty:
        yield Branch(f"NUMA nodes without CPUs and memory: {cpu_set(tuple(empty))}")


def _node(node: NumaNode) -> str:
    limits = "" if node.allowed else ", not allowed to us"
    if node.cpus:
        return f"NUMA node {node.id}: CPUs {cpu_set(node.cpus)}, {size(node.memory_bytes)}{limits}"
    of = f" near node {cpu_set(node.near)}" if node.near else ""
    return f"NUMA node {node.id}: no CPUs, {size(node.memory_bytes)}{of}{limits}"


def _gpus(gpus: Maybe[Gpus]) -> tuple[Gpu, ...]:
    return gpus.devices if is_known(gpus) else ()


def _devices(rdma: Maybe[tuple[RdmaDevice, ...]]) -> tuple[RdmaDevice, ...]:
    return rdma if is_known(rdma) else ()


def _homeless(devices: tuple[RdmaDevice, ...]) -> Iterator[RdmaDevice]:
    return (one for one in devices if one.numa_node is None)


def _driver(gpus: Gpus, numa: Maybe[tuple[NumaNode, ...]]) -> Iterator[Branch]:
    """The driver, and the GPUs that no node of the tree shows."""
    if gpus.vendor == "none":
        yield Branch("none")
        return
    yield Branch(f"{gpus.vendor} driver {gpus.driver or 'unknown'}, up to {gpus.runtime_ceiling or 'unknown'}")
    yield from _links(gpus)
    shown = {node.id for node in numa} if is_known(numa) else set()
    for one in gpus.devices:
        if one.numa_node not in shown:
            yield Branch(
                f"{_gpu(one)}, NUMA node {'unknown' if one.numa_node is None else one.numa_node}", _holders(one)
            )


def _links(gpus: Gpus) -> Iterator[Branch]:
    kinds = Counter(one.kind for one in gpus.links if isinstance(one.to, int))
    if kinds:
        yield Branch("links between GPUs: " + ", ".join(f"{pairs}x {kind}" for kind, pairs in kinds.items()))
    near = [link for one in gpus.devices for link in gpus.nearest_nics(one.index)]
    if near:
        yield Branch("nearest NICs: " + ", ".join(f"GPU {one.gpu} {one.to} ({one.kind})" for one in near))


def _gpu(one: Gpu) -> str:
    parts = (
        f"GPU {one.index}: {one.name}",
        size(one.memory_bytes) if one.memory_bytes else "unified memory",
        one.pci_address,
        f"compute {one.compute_capability}" if one.compute_capability else "",
        f"MIG with {one.health.mig_devices} devices" if one.mig_enabled else "",
        f"clique {one.health.fabric_clique}" if one.health.fabric_clique not in {None, "N/A"} else "",
    )
    return ", ".join(filter(None, parts))


def _holders(one: Gpu) -> tuple[Branch, ...]:
    return tuple(
        Branch(f"{held.name} (pid {held.pid})" + (f", {size(held.memory_bytes)}" if held.memory_bytes else ""))
        for held in one.processes
    )


def _rdma(device: RdmaDevice) -> Branch:
    ports = tuple(
        Branch(
            f"port {port.number}: {port.state or 'state unknown'}, {port.rate or 'rate unknown'}, {port.link_layer}",
            tuple(Branch(f"GID {gid.index}: {gid.value}, {gid.type or 'type unknown'}") for gid in port.gids),
        )
        for port in device.ports
    )
    names = ", ".join(filter(None, (device.type, f"firmware {device.firmware}" if device.firmware else "")))
    through = f" ({', '.join(device.netdevs)})" if device.netdevs else ""
    return Branch(f"NIC {device.name}{through}{': ' if names else ''}{names}", ports)


def _fabric(fabric: Fabric) -> Iterator[Branch]:
    """Nothing on a host that has none of it."""
    if fabric.manager not in {None, "absent"} or fabric.manager_version:
        version = fabric.manager_version or "of unknown version"
        yield Branch(f"fabric manager {version}: {fabric.manager or 'no systemd'}")
    nodes, channels = fabric.imex_nodes, fabric.imex_channels
    if fabric.imex not in {None, "absent"} or nodes or channels:
        among = "unknown" if nodes is None else ", ".join(nodes) or "none"
        through = "unknown" if channels is None else cpu_set(channels) or "none"
        yield Branch(f"IMEX: {fabric.imex or 'no systemd'}, nodes {among}, channels {through}")


def _network(network: Network) -> Iterator[Branch]:
    yield from (Branch(_interface(one)) for one in network.interfaces)
    yield from (Branch(f"to {one.to}: {one.interface}, from {one.source}") for one in network.routes)
    yield Branch("ephemeral ports {}-{}".format(*network.ephemeral_ports))


def _interface(one: Interface) -> str:
    speed = f", {one.speed_mbit / 1000:g} Gbit/s" if one.speed_mbit else ""
    return f"{one.name}: {one.state}, MTU {one.mtu}{speed}" + "".join(f", {address}" for address in one.addresses)


def _file_system(one: FileSystem) -> str:
    limits = "" if one.free_inodes is None else f", {one.free_inodes} inodes"
    limits += "" if one.writable else ", not writable"
    free = f"{size(one.free_bytes)} free of {size(one.total_bytes)}"
    return f"{one.asked}: {one.type} on {one.mount}, {free}{limits}"


def _blocks(blocks: tuple[Block, ...]) -> Iterator[Branch]:
    """Disks and what is made of them; loop devices and drives for removable media are left out."""
    for one in blocks:
        if one.type not in {"loop", "rom"}:
            text = (one.type, size(one.size) if isinstance(one.size, int) else one.size, one.file_system or "")
            yield Branch("  " * one.depth + f"{one.name}: " + ", ".join(filter(None, text)))


def _software(software: Software) -> Iterator[Branch]:
    programs = ("systemd", "container", "docker", "podman", "python", "pip", "uv")
    found = ((name, getattr(software, name)) for name in programs)
    yield Branch(", ".join(f"{name} {value or 'no'}" for name, value in found))
    yield from _containers(software)
    for one in software.environments:
        state = "" if one.complete else ", incomplete"
        yield Branch(
            f"environment {one.digest}: vLLM {one.vllm_version or 'unknown'}{state}{_simulated(one.simulated)}"
        )
    for weights in software.weights:
        kind = _simulated(weights.simulated)
        yield Branch(
            f"weights {weights.repo} {weights.commit[:12]}: {weights.files} files, {size(weights.bytes)}{kind}"
        )


def _containers(software: Software) -> Iterator[Branch]:
    told = (
        f"toolkit {software.container_toolkit}" if software.container_toolkit else "",
        f"docker runtimes {' '.join(software.docker_runtimes)}" if software.docker_runtimes else "",
        f"CDI {' '.join(software.cdi_specs)}" if software.cdi_specs else "",
    )
    yield from _leaves("GPUs in containers: ", (", ".join(filter(None, told)),))


def _simulated(simulated: bool) -> str:  # noqa: FBT001  (a word for a flag)
    return ", simulated" if simulated else ""


def _opinion(second: SecondOpinion) -> Iterator[Branch]:
    yield Branch(f"asked in {second.python}")
    if second.physical_cores_machine is not None:
        yield Branch(f"psutil: {second.physical_cores_machine} physical cores, CPUs {cpu_set(second.allowed or ())}")
    yield Branch("py-cpuinfo: " + (f"{len(second.flags)} flags" if second.flags is not None else "not there"))


def _deployment(one: RunningDeployment) -> str:
    head = ", head" if one.head else ""
    return f"{one.name}/{one.generation}: {one.state}, {one.supervisor}{head}, {len(one.pids)} processes"
