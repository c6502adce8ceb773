"""One host of a plan as a drawn tree: what the picture shows of it, with the memory of each GPU as a bar. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inventory.facts.cpulist import format_list
from launch.console.sizes import counted, cpu_set
from launch.console.tree import Branch
from launch.placing.placement import Binding
from launch.plans.memory_bar import bar, gb

if TYPE_CHECKING:
    from launch.plans.document import Gpu, Host, MemoryPart, Nic, NumaNode


def tree(host: Host, parts: Sequence[MemoryPart]) -> Branch:
    """`parts`: of one GPU that is used."""
    ranks = ", ".join(str(rank.index) for rank in host.ranks)
    title = f"{host.name} ({host.role}, node {host.node_rank}): rank(s) {ranks}; {host.address} on {host.interface}"
    numbered = {node.id for node in host.numa}
    shown = [node for node in host.numa if node.cpus or node.gpus or node.nics]
    return Branch(
        title,
        (
            *([Branch(f"serves {' '.join(host.urls)}")] if host.urls else []),
            *(Branch(_node(node), tuple(_devices(host, node.id, parts))) for node in shown),
            *_without_cpus(host, shown),
            *_homeless(host, numbered, parts),
            *_between(host),
            Branch(_processes(host)),
        ),
    )


def _node(node: NumaNode) -> str:
    cpus = f"CPUs {cpu_set(node.cpus)}" if node.cpus else "no CPUs"
    return f"NUMA node {node.id}: {cpus}; {gb(node.memory_bytes)}"


def _devices(host: Host, node: int, parts: Sequence[MemoryPart]) -> Iterator[Branch]:
    yield from (Branch(_gpu(gpu, host, parts)) for gpu in host.gpus if gpu.numa_node == node)
    yield from (Branch(_nic(nic)) for nic in host.nics if nic.numa_node == node)


def _without_cpus(host: Host, shown: Sequence[NumaNode]) -> Iterator[Branch]:
    """Nodes on which nothing hangs: on Grace the memory of GPUs, and numbers that are kept for slices of them."""
    rest = [node for node in host.numa if node not in shown]
    sizes = dict.fromkeys(node.memory_bytes for node in rest)
    for size in sorted(sizes, reverse=True):
        nodes = tuple(node.id for node in rest if node.memory_bytes == size)
        what = f"{gb(size)} each" if size and len(nodes) > 1 else gb(size) if size else "no memory"
        yield Branch(f"NUMA node{'s' if len(nodes) > 1 else ''} {format_list(nodes)}: no CPUs; {what}")


def _homeless(host: Host, numbered: set[int], parts: Sequence[MemoryPart]) -> Iterator[Branch]:
    """Devices whose node is not told, or none of those of the host."""
    twigs = (
        *(Branch(_gpu(gpu, host, parts)) for gpu in host.gpus if gpu.numa_node not in numbered),
        *(Branch(_nic(nic)) for nic in host.nics if nic.numa_node not in numbered),
    )
    if twigs and host.numa:
        yield Branch("no NUMA node told", twigs)
    else:
        yield from twigs


def _gpu(gpu: Gpu, host: Host, parts: Sequence[MemoryPart]) -> str:
    name = f"GPU {gpu.index} {gpu.name} {gb(gpu.memory_bytes)}"
    if gpu.rank is None:
        return f"{name}: unused: {gpu.unused}"
    drawn = f" [{bar(parts, gpu.memory_bytes)}]" if parts else ""
    return f"{name}{drawn}: rank {gpu.rank}, worker {gpu.worker}{_cores(gpu, host)}"


def _cores(gpu: Gpu, host: Host) -> str:
    """The cores of the worker on this GPU, where the plan gives it some."""
    used = [index for rank in host.ranks for index in rank.gpus]
    at = used.index(gpu.index)
    return f", CPUs {cpu_set(host.pins.workers[at])}" if at < len(host.pins.workers) else ""


def _nic(nic: Nic) -> str:
    rate = "rate not told" if nic.gigabits is None else f"{nic.gigabits:g} Gbit/s"
    through = f" ({', '.join(nic.netdevs)})" if nic.netdevs else ""
    near = f", nearest to GPU {', '.join(map(str, nic.near))}" if nic.near else ""
    kind = nic.link_layer or "link layer not told"
    return f"NIC {nic.name}{through}: " + (f"{kind}, {rate}{near}" if nic.active else f"down, {kind}{near}")


def _between(host: Host) -> Iterator[Branch]:
    """How GPUs reach each other: the kinds of links and how many pairs have each."""
    used = sum(gpu.rank is not None for gpu in host.gpus)
    links = counted(link.kind for link in host.links) or ("not told" if used > 1 else "")
    if links:
        yield Branch(f"links between GPUs: {links}")
    if host.clique:
        yield Branch(f"NVLink domain {host.clique}")


def _processes(host: Host) -> str:
    count = host.processes
    parts = {
        "API servers": count.api_servers,
        "launcher": count.launchers,
        "engine cores": count.engine_cores,
        "workers": count.workers,
        "coordinator": count.coordinators,
    }
    said = ", ".join(f"{number} {name}" for name, number in parts.items() if number)
    cores = "unknown" if count.cores is None else str(count.cores)
    binding = "" if host.pins.binding is Binding.NONE else f"; bound by {host.pins.binding}"
    return f"processes: {said}; physical cores {cores}, least {count.least_cores} (2 + N){binding}"
