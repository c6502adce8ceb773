"""Whole fleets for property tests: unequal hosts, broken GPUs, MIG, sparse and CPU-less NUMA nodes, missing routes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hypothesis import strategies as st

from inventory.facts.host import Cpu, Gpu, GpuHealth, Gpus, HostFacts, Interface, Link, Network, NumaNode, Route
from inventory.schema import Host
from tests.unit.launch.gangs import facts as bare_facts
from tests.unit.launch.gangs import gpu, hosts

KINDS = {  # name as the tool prints it -> GPUs of a full host
    "NVIDIA H200": 8,
    "NVIDIA GB200": 4,
    "NVIDIA B300": 8,
    "AMD Instinct MI355X": 8,
}
MEMORY = {"NVIDIA H200": 143771 << 20, "NVIDIA GB200": 189471 << 20, "NVIDIA B300": 275040 << 20}
CPU_NODES = ((0, 1), (0, 8), (2, 5), (0,))
LINKS = ("mesh", "pairs", "pcie", "untold")


@dataclass(frozen=True)
class Fleet:
    """`cores`: physical ones of every host."""

    hosts: tuple[Host, ...]
    facts: dict[str, HostFacts]
    kind: str
    cores: tuple[int, ...]


@st.composite
def fleets(draw: st.DrawFn, *, most: int = 64, healthy: bool = False) -> Fleet:
    count = draw(st.one_of(st.integers(1, 2), st.integers(1, 4), st.integers(1, 8), st.integers(1, most)))
    kind = draw(st.sampled_from(sorted(KINDS)))
    members = tuple(hosts(count))
    kinds = [kind] * count
    if not healthy and draw(st.integers(0, 9)) == 0:
        kinds[draw(st.integers(0, count - 1))] = draw(st.sampled_from(sorted(KINDS)))
    cores = tuple(draw(st.sampled_from([64, 72, 144, 12, 6])) if not healthy else 144 for _ in members)
    cut = set() if healthy else draw(st.sets(st.integers(0, count - 1), max_size=1))
    seen = {
        host.name: host_facts(
            index,
            members,
            _gpus(draw, kinds[index], healthy=healthy),
            cores=cores[index],
            nodes=draw(st.sampled_from(CPU_NODES)),
            unreached=cut - {index},
        )
        for index, host in enumerate(members)
    }
    return Fleet(members, seen, kind, cores)


def _gpus(draw: st.DrawFn, kind: str, *, healthy: bool) -> Gpus:
    full = KINDS[kind]
    count = full if healthy else draw(st.one_of(st.just(full), st.just(full), st.integers(1, full)))
    devices = [one_gpu(index, kind) for index in range(count)]
    for index, state in (
        [] if healthy else draw(st.dictionaries(st.integers(0, 7), st.integers(0, 2), max_size=2)).items()
    ):
        if index < count:
            devices[index] = spoiled(devices[index], state)
    links = draw(st.sampled_from(LINKS))
    hidden = () if healthy or draw(st.integers(0, 4)) else ("00000009:01:00.0",)
    vendor = vendor_of(kind)
    return Gpus(
        vendor, "580.82", None, tuple(devices), simulated=False, hidden=hidden, links=linked(links, count, vendor)
    )


def vendor_of(kind: str) -> Literal["nvidia", "amd"]:
    return "amd" if kind.startswith("AMD") else "nvidia"


def one_gpu(index: int, kind: str) -> Gpu:
    return replace(gpu(index, name=kind), memory_bytes=MEMORY.get(kind, 309 * 10**9))


def spoiled(device: Gpu, state: int) -> Gpu:
    """In MIG mode, with rows that could not be remapped, or with a driver that asks for a reset."""
    if state == 0:
        return replace(device, mig_enabled=True)
    return replace(device, health=GpuHealth(remap_failure=True) if state == 1 else GpuHealth(recovery_action="Reset"))


def linked(kind: str, count: int, vendor: str) -> tuple[Link, ...]:
    """`pairs`: two GPUs that are far apart by index are near each other, all others are across sockets."""
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    near = "XGMI" if vendor == "amd" else "NV18"
    if kind == "untold":
        return ()
    if kind == "mesh":
        return tuple(Link(a, b, near) for a, b in pairs)
    if kind == "pcie":
        return tuple(Link(a, b, "PIX" if a // 2 == b // 2 else "NODE" if a // 4 == b // 4 else "SYS") for a, b in pairs)
    half = count // 2
    return tuple(Link(a, b, near if b - a == half else "SYS") for a, b in pairs)


def host_facts(
    index: int,
    members: Sequence[Host],
    gpus: Gpus,
    *,
    cores: int = 144,
    nodes: tuple[int, ...] = (0, 1),
    unreached: frozenset[int] | set[int] = frozenset(),
) -> HostFacts:
    """Facts of host `index`; hosts whose number is in `unreached` it has no route to."""
    (one,) = bare_facts([members[index]], [0]).values()
    share = cores // len(nodes)
    spans = [tuple(range(at * share, (at + 1) * share)) for at in range(len(nodes))]
    devices = tuple(
        replace(device, numa_node=nodes[place * len(nodes) // max(len(gpus.devices), 1)])
        for place, device in enumerate(gpus.devices)
    )
    usable = tuple(range(share * len(nodes)))
    return replace(
        one,
        gpus=replace(gpus, devices=devices),
        cpu=Cpu("cpu", len(nodes), usable, usable, len(usable), len(usable), tuple(spans), tuple((c,) for c in usable)),
        numa=(
            *(NumaNode(node, span, 512 << 30) for node, span in zip(nodes, spans, strict=True)),
            NumaNode(30, (), 96 << 30),  # HBM of a GPU: memory without CPUs
        ),
        network=Network(
            interfaces=(Interface("eth0", "up", 1500, (members[index].address,), 1000),),
            routes=tuple(
                Route(other.address, "eth0", members[index].address)
                for at, other in enumerate(members)
                if at != index and at not in unreached
            ),
            ephemeral_ports=(32768, 60999),
        ),
    )
