"""A fresh cluster, layer by layer, as far as it can be judged without a model: `invoke hosts.check`. Pure.

Each layer is proven before the next, and a host where one fails is not looked at further: what follows would be
consequences. The other hosts go on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.errors import CheckFailed
from inventory.facts.base import is_known
from launch.choosing.hardware import CPU, profile_of
from launch.placing.addresses import address_of
from playbooks.checks import CHECKS
from playbooks.finding import BLOCKING, GRAVEST_FIRST, Finding, Status
from playbooks.racks import RACKS
from playbooks.requirements import HostRequirements, Processes, Requirements, Space

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.schema import Host

PORTS = (8000, 13345, 29501)
"""The public endpoint, where ranks join, and torch's store: what a launch takes by default."""

STATE_BYTES = 40 * 10**9
"""Environments and logs of a few generations; the weights are for the check of a model."""


@dataclass(frozen=True, slots=True)
class Layer:
    """`groups`: the first parts of the ids that belong to it; `checks`: single ones, which win."""

    title: str
    groups: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


LAYERS = (
    Layer("reach", ("ssh", "ctl"), ("os.arch", "os.clock", "os.glibc")),
    Layer(
        "ground",
        (),
        (
            *("os.auto_update", "os.pending_reboot", "gpu.nvml_match", "fabric.fm_version", "gpu.next_kernel"),
            *("gpu.driver_min", "rocm.versions", "rocm.iommu"),
        ),
    ),
    Layer("GPU", ("gpu", "rocm", "fabric")),
    Layer("limits", ("os", "cpu", "numa", "sto", "rt")),
    Layer("network", ("net", "rdma", "nccl", "deepep")),
)


@dataclass(frozen=True, slots=True)
class Descent:
    """How far one host came: the worst status of each layer, None for those that were not looked at."""

    host: str
    layers: tuple[Status | None, ...]

    @property
    def stopped_at(self) -> str:
        """The layer where it failed; empty when it came through."""
        return next((one.title for one, status in zip(LAYERS, self.layers, strict=True) if status in BLOCKING), "")


def layer_of(check: str) -> int | None:
    """The number of the layer that a check belongs to; None: it is about a launch."""
    named = next((at for at, layer in enumerate(LAYERS) if check in layer.checks), None)
    group = check.partition(".")[0]
    return named if named is not None else next((at for at, one in enumerate(LAYERS) if group in one.groups), None)


def of_launches() -> frozenset[str]:
    """The checks that no layer has: they need a model."""
    return frozenset(check for check in CHECKS if layer_of(check) is None)


def descend(hosts: Sequence[str], findings: Collection[Finding]) -> tuple[tuple[Descent, ...], tuple[Finding, ...]]:
    """How far each host came, and the findings that count: none of a layer below the one where its host failed."""
    descents = tuple(_of_host(host, [one for one in findings if one.host == host]) for host in hosts)
    depth = {one.host: len([status for status in one.layers if status is not None]) for one in descents}
    deepest = max(depth.values(), default=0)
    counting = tuple(
        one for one in findings if (layer := layer_of(one.check)) is not None and layer < depth.get(one.host, deepest)
    )
    return descents, counting


def _of_host(host: str, findings: Sequence[Finding]) -> Descent:
    reached: list[Status | None] = []
    for at in range(len(LAYERS)):
        if reached and (reached[-1] is None or reached[-1] in BLOCKING):
            reached.append(None)
            continue
        told = [one.status for one in findings if layer_of(one.check) == at]
        reached.append(min(told, key=GRAVEST_FIRST.index, default=Status.SKIP))
    return Descent(host, tuple(reached))


def needs_of(hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> Requirements:
    """What any launch over these hosts would need: all GPUs, one rank over them, the default ports."""
    each = tuple(_needs_of(host, hosts, facts) for host in hosts)
    profiles = {one.gpu_profile for one in each}
    hardware = profiles.pop() if len(profiles) == 1 else None
    ranks = sum(one.processes.engine_cores for one in each)
    return Requirements(
        hosts=each,
        head=hosts[0].name,
        head_address=each[0].address,
        vllm_version="",
        data_parallel_size=ranks,
        ranks=tuple(one.host for one in each for _ in range(one.processes.engine_cores)),
        argv_errors=(),
        hardware=hardware,
        rdma=True if all(_has_rdma(facts.get(host.name)) for host in hosts) and len(hosts) > 1 else None,
        mnnvl=True if hardware in RACKS and len(hosts) > 1 and not _simulated(hosts, facts) else None,
    )


def _simulated(hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> bool:
    """Nobody simulates NVLink between trays, nor what it needs."""
    return any(facts[host.name].simulated for host in hosts if host.name in facts)


def _needs_of(host: Host, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> HostRequirements:
    told = facts.get(host.name)
    # Where the driver does not tell, one is asked for: then the checks of GPUs say what is wrong with it.
    gpus = tuple(one.index for one in told.gpus.devices) if told and is_known(told.gpus) else (0,)
    profile = profile_of(told) if told else None
    address, interface = _address(host, hosts, facts)
    return HostRequirements(
        host=host.name,
        gpus=gpus,
        gpu_profile=profile if isinstance(profile, str) and profile != CPU else None,
        memory_per_gpu_bytes=None,
        host_memory_bytes=None,
        # One engine with a worker for each GPU is the least that could run: 2 + N processes.
        processes=Processes(1, 0, 1, max(1, len(gpus)), 0),
        address=address,
        interface=interface,
        ports=PORTS,
        space=(Space(host.state_dir, STATE_BYTES, "state"),),
        own_pids=(),
    )


def _address(host: Host, hosts: Sequence[Host], facts: Mapping[str, HostFacts]) -> tuple[str | None, str | None]:
    """What the host would be called by the others; nothing where that cannot be told: net.iface says why."""
    peers = [one for one in hosts if one.name != host.name]
    if host.name not in facts or not peers:
        return None, None
    try:
        return address_of(host, peers, facts)
    except CheckFailed:
        return None, None


def _has_rdma(facts: HostFacts | None) -> bool:
    return facts is not None and is_known(facts.rdma) and any(p.is_active for one in facts.rdma for p in one.ports)
