"""The fleet at a glance: one line a host, also for those that did not answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from inventory.facts.base import Maybe, is_known
from inventory.facts.host import NEAREST_FIRST
from launch.console.sizes import counted, size
from launch.hosts.remarks import least_cores, remarks

if TYPE_CHECKING:
    from inventory.errors import BringupError
    from inventory.facts.host import Cpu, Gpus, HostFacts, Network, NumaNode, RdmaDevice
    from launch.console.tables import Table
    from launch.hosts.gather import Answered

T = TypeVar("T")

COLUMNS = ("host", "gpus", "driver", "numa", "cores/2+N", "memory", "nics", "free", "systemd", "findings")
UNKNOWN = "?"
VENDOR = re.compile(r"^(?:NVIDIA|AMD Instinct|AMD)\s+(?:Graphics Device$)?")


def fact_rows(answered: Answered, facts: Mapping[str, HostFacts]) -> Table:
    """`free`: bytes where the host's state dir lies. `?`: unknown, and the findings say why."""
    rows = [
        _row(host, facts[host], place.state_dir) if host in facts else _silent(host, answered.errors[host])
        for host, place in answered.hosts.items()
    ]
    return COLUMNS, rows


def _row(host: str, facts: HostFacts, state_dir: str) -> tuple[str, ...]:
    return (
        host,
        show(facts.gpus, gpu_text),
        show(facts.gpus, lambda gpus: gpus.driver or "-"),
        show(facts.numa, _nodes),
        show(facts.cpu, lambda cpu: _cores(cpu, facts.gpus)),
        show(facts.memory, lambda memory: size(memory.total_bytes)),
        nic_text(facts),
        show(facts.file_system(state_dir), lambda one: size(one.free_bytes)),
        show(facts.software, lambda software: software.systemd or "no"),
        "; ".join(remarks(facts)) or "-",
    )


def _silent(host: str, error: BringupError) -> tuple[str, ...]:
    reason = f"{error.message}: {error.observed}" if error.observed else error.message
    return (host, "no answer", *[UNKNOWN] * (len(COLUMNS) - 3), reason)


def show(fact: Maybe[T], text: Callable[[T], str]) -> str:
    return text(fact) if is_known(fact) else UNKNOWN


def gpu_text(gpus: Gpus) -> str:
    """`8x H200 140 GiB`: the vendor is left out, which the name implies."""
    if gpus.vendor == "none":
        return "none"
    return counted(
        f"{VENDOR.sub('', gpu.name)} {size(gpu.memory_bytes)}" if gpu.memory_bytes else VENDOR.sub("", gpu.name)
        for gpu in gpus.devices
    )


def _nodes(nodes: tuple[NumaNode, ...]) -> str:
    """Nodes with CPUs, and how many more have memory only."""
    with_cpus = sum(bool(node.cpus) for node in nodes)
    memory_only = sum(not node.cpus and node.memory_bytes > 0 for node in nodes)
    return f"{with_cpus}+{memory_only}" if memory_only else str(with_cpus)


def _cores(cpu: Cpu, gpus: Maybe[Gpus]) -> str:
    least = str(least_cores(gpus)) if is_known(gpus) and gpus.devices else "-" if is_known(gpus) else UNKNOWN
    return f"{cpu.physical_cores}/{least}"


def nic_text(facts: HostFacts) -> str:
    """RDMA ports that are active by rate and kind, and how far GPUs are from them; without RDMA the interfaces."""
    if is_known(facts.rdma) and facts.rdma:
        distance = _distance(facts.gpus) if is_known(facts.gpus) else ""
        return _ports(facts.rdma) + (f" ({distance})" if distance else "")
    return show(facts.network, _interfaces)


def _ports(devices: tuple[RdmaDevice, ...]) -> str:
    kinds = {"InfiniBand": "IB", "Ethernet": "RoCE"}
    active = [port for device in devices for port in device.ports if port.is_active]
    rates = (f"{port.gigabits:g}G {kinds.get(port.link_layer, '')}" if port.gigabits else "RDMA" for port in active)
    return counted(rate.strip() for rate in rates) or f"{len(devices)}x RDMA, none active"


def _distance(gpus: Gpus) -> str:
    """`PIX`, or `PIX-NODE` where GPUs differ, from each to its nearest NIC; nothing where it is not told."""
    linked = {link.gpu for link in gpus.links if isinstance(link.to, str)}
    nearest = {next((link.kind for link in gpus.nearest_nics(gpu)), "SYS") for gpu in linked}
    ends = sorted(nearest, key=(*NEAREST_FIRST, "SYS").index)
    return "-".join(dict.fromkeys((*ends[:1], *ends[-1:])))


def _interfaces(network: Network) -> str:
    up = [one for one in network.interfaces if one.state == "up" and one.name != "lo"]
    return counted(f"{one.speed_mbit / 1000:g}G" if one.speed_mbit else "up" for one in up) or "none up"
