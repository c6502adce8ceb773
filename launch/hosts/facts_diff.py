"""What changed on hosts between two looks at them, one line each, the gravest first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

from inventory.facts.base import Maybe, Unknown, is_known
from inventory.facts.cpulist import format_list
from launch.console.sizes import size

if TYPE_CHECKING:
    from inventory.errors import BringupError
    from inventory.facts.host import (
        Driver,
        Fabric,
        Gpus,
        HostFacts,
        Network,
        NvlinkErrors,
        RdmaDevice,
        Software,
        System,
        Xid,
    )

T = TypeVar("T")

MUCH = 0.1
"""Memory and free space that changed by a smaller share did not change."""


SUBJECTS = (
    *("system", "cpu", "numa", "memory", "file_systems", "network"),
    *("gpus", "rdma", "software", "deployments"),
)

HEALTH = (
    *("recovery_action", "remap_failure", "remap_pending", "remapped_rows", "uncorrectable_errors", "ecc"),
    *("fabric_state", "fabric_status", "fabric_clique", "fabric_health", "power_limit_w", "clock_max_mhz", "vbios"),
)
"""What a GPU tells of itself that does not change by itself."""


class Gravity(IntEnum):
    """In the order of the lines."""

    LOST = 0  # something is gone that was there
    OTHER = 1  # another machine state: boot, kernel, driver
    CHANGED = 2
    NEW = 3


@dataclass(frozen=True, slots=True)
class Difference:
    host: str
    gravity: Gravity
    text: str

    def __str__(self) -> str:
        return f"{self.host}: {self.text}"


Pair = Iterator[tuple[Gravity, str]]


def differences(
    before: Mapping[str, HostFacts], now: Mapping[str, HostFacts], silent: Mapping[str, BringupError]
) -> tuple[Difference, ...]:
    """What differs; `silent`: the hosts that do not answer now. Hosts that were not looked at before are new."""
    found = [
        Difference(host, gravity, text)
        for host in dict.fromkeys((*before, *now, *silent))
        for gravity, text in _of_host(host, before, now, silent)
    ]
    return tuple(sorted(found, key=lambda one: one.gravity))


def _of_host(
    host: str, before: Mapping[str, HostFacts], now: Mapping[str, HostFacts], silent: Mapping[str, BringupError]
) -> Pair:
    if host in silent:
        yield Gravity.LOST, f"does not answer: {silent[host].message}"
    elif host not in before:
        yield Gravity.NEW, "was not in the bundle"
    elif host in now:
        yield from compare(before[host], now[host])


def compare(before: HostFacts, now: HostFacts) -> Pair:
    """The differences of one host, in no order."""
    yield from _known(before, now)
    yield from _both(before.system, now.system, _system)
    yield from _both(before.gpus, now.gpus, _gpus)
    yield from _both(before.driver, now.driver, _driver)
    yield from _both(before.xids, now.xids, _xids)
    yield from _both(before.nvlink_errors, now.nvlink_errors, _links)
    yield from _both(before.fabric, now.fabric, _fabric)
    yield from _both(before.rdma, now.rdma, _rdma)
    yield from _both(before.network, now.network, _network)
    yield from _both(before.software, now.software, _software)
    yield from _both(before.cpu, now.cpu, lambda a, b: _cores(a.allowed, b.allowed))
    yield from _both(before.memory, now.memory, lambda a, b: _size("memory", a.total_bytes, b.total_bytes))
    yield from _both(_free(before), _free(now), _disks)
    yield from _both(_states(before), _states(now), lambda a, b: _named("deployment", a, b))


def _known(before: HostFacts, now: HostFacts) -> Pair:
    for name in SUBJECTS:
        old, new = getattr(before, name), getattr(now, name)
        if isinstance(new, Unknown) and is_known(old):
            yield Gravity.LOST, f"{name.replace('_', ' ')} was known, is {new}"
        if isinstance(old, Unknown) and is_known(new) and old.why != "not-asked":
            yield Gravity.NEW, f"{name.replace('_', ' ')} was {old}, is known"


def _both(old: Maybe[T], new: Maybe[T], told: Callable[[T, T], Pair]) -> Pair:
    if is_known(old) and is_known(new):
        yield from told(old, new)


def _system(old: System, new: System) -> Pair:
    if old.boot_id != new.boot_id:
        yield Gravity.OTHER, "was rebooted (another boot id)"
    yield from _value("kernel", old.kernel, new.kernel)
    yield from _value("system", f"{old.id} {old.version}", f"{new.id} {new.version}")
    yield from _value("host name", old.hostname, new.hostname)


def _gpus(old: Gpus, new: Gpus) -> Pair:
    yield from _value("driver", old.driver, new.driver)
    yield from _value("runtime ceiling", old.runtime_ceiling, new.runtime_ceiling)
    was = {gpu.pci_address: gpu for gpu in old.devices}
    is_ = {gpu.pci_address: gpu for gpu in new.devices}
    for address in sorted(was.keys() - is_.keys()):
        yield Gravity.LOST, f"GPU {was[address].index} at {address} is gone ({was[address].name})"
    for address in sorted(is_.keys() - was.keys()):
        yield Gravity.NEW, f"GPU {is_[address].index} at {address} is new ({is_[address].name})"
    for address in sorted(was.keys() & is_.keys()):
        a, b = was[address], is_[address]
        if a.uuid != b.uuid:
            yield Gravity.OTHER, f"GPU at {address} is another one (another UUID)"
        yield from _value(f"GPU {b.index} name", a.name, b.name)
        yield from _value(f"GPU {b.index} MIG", a.mig_enabled, b.mig_enabled)
        for name in HEALTH:
            yield from _value(
                f"GPU {b.index} {name.replace('_', ' ')}", getattr(a.health, name), getattr(b.health, name)
            )


def _driver(old: Driver, new: Driver) -> Pair:
    yield from _value("loaded driver module", old.module, new.module)
    yield from _value("driver library", old.library, new.library)
    yield from _value("kernel of the next boot", old.next_kernel, new.next_kernel)


def _xids(old: tuple[Xid, ...], new: tuple[Xid, ...]) -> Pair:
    """By code and GPU: ages change by themselves, and the log of an earlier boot is another one."""
    before = {(one.code, one.gpu) for one in old}
    for code, gpu in dict.fromkeys((one.code, one.gpu) for one in new):
        if (code, gpu) not in before:
            yield (
                Gravity.LOST,
                f"Xid {code} of GPU {gpu} in the kernel's log" if code else f"GPU {gpu} fell off the bus",
            )


def _links(old: tuple[NvlinkErrors, ...], new: tuple[NvlinkErrors, ...]) -> Pair:
    before = {one.gpu: one.errors for one in old}
    for one in new:
        if one.errors > before.get(one.gpu, one.errors):
            yield Gravity.CHANGED, f"NVLink errors of GPU {one.gpu} {before[one.gpu]} -> {one.errors}"


def _fabric(old: Fabric, new: Fabric) -> Pair:
    yield from _value("fabric manager", old.manager, new.manager)
    yield from _value("fabric manager version", old.manager_version, new.manager_version)
    yield from _value("IMEX", old.imex, new.imex)
    yield from _value("IMEX nodes", old.imex_nodes, new.imex_nodes)
    if old.imex_domain and new.imex_domain:
        yield from _value("IMEX domain", old.imex_domain.state, new.imex_domain.state)


def _rdma(old: tuple[RdmaDevice, ...], new: tuple[RdmaDevice, ...]) -> Pair:
    yield from _named("RDMA port", _ports(old), _ports(new))
    yield from _named("RDMA firmware", {one.name: one.firmware for one in old}, {one.name: one.firmware for one in new})


def _ports(devices: tuple[RdmaDevice, ...]) -> dict[str, str]:
    return {f"{one.name}:{port.number}": f"{port.state} {port.rate}".strip() for one in devices for port in one.ports}


def _network(old: Network, new: Network) -> Pair:
    yield from _named("interface", *({one.name: one.state for one in each.interfaces} for each in (old, new)))
    yield from _named("MTU of", *({one.name: str(one.mtu) for one in each.interfaces} for each in (old, new)))
    addresses = ({one.name: " ".join(sorted(one.addresses)) for one in each.interfaces} for each in (old, new))
    yield from _named("address of", *addresses)


def _software(old: Software, new: Software) -> Pair:
    for name in ("systemd", "docker", "podman", "python", "uv"):
        yield from _value(name, getattr(old, name), getattr(new, name))
    environments = ({one.digest: one.vllm_version for one in each.environments} for each in (old, new))
    yield from _named("environment", *environments)
    weights = ({f"{one.repo} {one.commit}": "there" for one in each.weights} for each in (old, new))
    yield from _named("weights", *weights)


def _cores(old: tuple[int, ...], new: tuple[int, ...]) -> Pair:
    if old != new:
        gravity = Gravity.LOST if len(new) < len(old) else Gravity.CHANGED
        yield gravity, f"allowed CPUs {format_list(old)} -> {format_list(new)}"


def _free(facts: HostFacts) -> Maybe[dict[str, tuple[str, int]]]:
    if isinstance(facts.file_systems, Unknown):
        return facts.file_systems
    return {one.asked: (one.type, one.free_bytes) for one in facts.file_systems}


def _disks(old: Mapping[str, tuple[str, int]], new: Mapping[str, tuple[str, int]]) -> Pair:
    for path in sorted(old.keys() & new.keys()):
        yield from _value(f"file system of {path}", old[path][0], new[path][0])
        yield from _size(f"free at {path}", old[path][1], new[path][1])


def _states(facts: HostFacts) -> Maybe[dict[str, str]]:
    if isinstance(facts.deployments, Unknown):
        return facts.deployments
    return {one.name: f"{one.generation} {one.state}" for one in facts.deployments}


def _named(kind: str, old: Mapping[str, str], new: Mapping[str, str]) -> Pair:
    for name in sorted(old.keys() - new.keys()):
        yield Gravity.LOST, f"{kind} {name} is gone"
    for name in sorted(new.keys() - old.keys()):
        yield Gravity.NEW, f"{kind} {name} is new"
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            gravity = Gravity.LOST if "down" in new[name].lower() or "dead" in new[name] else Gravity.CHANGED
            yield gravity, f"{kind} {name} {old[name]} -> {new[name]}"


def _value(what: str, old: object, new: object) -> Pair:
    if old != new:
        yield Gravity.OTHER, f"{what} {old if old is not None else 'none'} -> {new if new is not None else 'none'}"


def _size(what: str, old: int, new: int) -> Pair:
    if abs(new - old) > MUCH * max(old, 1):
        yield (Gravity.LOST if new < old / 2 else Gravity.CHANGED), f"{what} {size(old)} -> {size(new)}"
