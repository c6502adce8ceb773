"""What a person should know of a host at once, in a few words each, the gravest first. Pure.

Not checks: no launch is asked for. What a launch needs is judged by `invoke check`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import GpuHealth, Gpus, HostFacts, Network
from inventory.facts.opinion import disagreements
from launch.hosts.remarks_fabric import of_distances, of_fabric, of_limits

if TYPE_CHECKING:
    from inventory.facts.host import RdmaDevice

CLOCK_S = 1.0
FULL = 0.05
FREE_GPU_BYTES = 1 << 30
TOLD_BY_ALL = (
    *("system", "cpu", "numa", "memory", "file_systems", "network", "listeners", "gpus", "software", "deployments"),
    *("rdma", "blocks", "cpu_flags", "second_opinion", "limits", "huge_pages", "fabric", "context"),
)
"""What needs no tool that a host may lack, no right and no other software."""


def remarks(facts: HostFacts) -> tuple[str, ...]:
    """Everything odd about a host; empty when there is nothing."""
    return (
        *_unknown(facts),
        *(_of_gpus(facts.gpus) if is_known(facts.gpus) else ()),
        *of_fabric(facts),
        *_of_cores(facts),
        *_of_disk(facts),
        *(_of_network(facts.network) if is_known(facts.network) else ()),
        *(_of_rdma(facts.rdma) if is_known(facts.rdma) else ()),
        *(of_distances(facts.gpus) if is_known(facts.gpus) else ()),
        *of_limits(facts),
        *_of_deployments(facts),
        *_of_system(facts),
        *disagreements(facts),
        *(("simulated",) if facts.simulated else ()),
    )


def least_cores(gpus: Gpus) -> int:
    """2 + N: vLLM's rule for one API server, one engine core and a worker for each of N GPUs."""
    return 2 + len(gpus.devices)


def _unknown(facts: HostFacts) -> Iterator[str]:
    """Subjects that were asked for and not told, of those that every host can tell."""
    for name in TOLD_BY_ALL:
        fact = getattr(facts, name)
        if isinstance(fact, Unknown) and fact.why != "not-asked":
            yield f"{name.replace('_', ' ')} unknown: {fact.detail or fact.why}"


def _of_gpus(gpus: Gpus) -> Iterator[str]:
    if gpus.hidden:
        yield f"{len(gpus.hidden)} GPU on the PCI bus that the driver does not show: {', '.join(gpus.hidden)}"
    if len({gpu.name for gpu in gpus.devices}) > 1:
        yield "GPUs of several kinds"
    for gpu in gpus.devices:
        yield from (f"GPU {gpu.index} {text}" for text in _of_health(gpu.health))
    mig = [str(gpu.index) for gpu in gpus.devices if gpu.mig_enabled]
    if mig:
        yield f"MIG on GPU {','.join(mig)}"
    busy = [gpu for gpu in gpus.devices if gpu.processes]
    if busy:
        names = dict.fromkeys(process.name for gpu in busy for process in gpu.processes)
        yield f"GPU {','.join(str(gpu.index) for gpu in busy)} in use by {', '.join(names)}"


def _of_health(health: GpuHealth) -> Iterator[str]:
    if health.recovery_action not in {None, "None", "N/A"}:
        yield f"needs recovery: {health.recovery_action}"
    if health.remap_failure:
        yield "could not remap rows of its memory"
    if health.remap_pending:
        yield "has rows of memory to remap at its next reset"
    if health.fabric_state not in {None, "Completed", "N/A"}:
        yield f"is not in the NVLink fabric: {health.fabric_state}"
    elif health.fabric_status not in {None, "Success", "N/A"}:
        yield f"is in the NVLink fabric with {health.fabric_status}"


def _of_cores(facts: HostFacts) -> Iterator[str]:
    if not is_known(facts.cpu):
        return
    cpu = facts.cpu
    if is_known(facts.gpus) and facts.gpus.devices and cpu.physical_cores < least_cores(facts.gpus):
        yield f"{cpu.physical_cores} physical cores, fewer than 2 + N = {least_cores(facts.gpus)}"
    if cpu.physical_cores < cpu.physical_cores_machine:
        yield f"only {cpu.physical_cores} of {cpu.physical_cores_machine} cores may be used"


def _of_disk(facts: HostFacts) -> Iterator[str]:
    for one in facts.file_systems if is_known(facts.file_systems) else ():
        if one.total_bytes and one.free_bytes < FULL * one.total_bytes:
            yield f"{one.asked} is {1 - one.free_bytes / one.total_bytes:.0%} full"
        if not one.writable:
            yield f"{one.asked} is not writable"


def _of_network(network: Network) -> Iterator[str]:
    down = [one.name for one in network.interfaces if one.state == "down" and one.addresses]
    if down:
        yield f"interface {', '.join(down)} down"


def _of_rdma(devices: tuple[RdmaDevice, ...]) -> Iterator[str]:
    ports = [(f"{one.name}:{port.number}", port) for one in devices for port in one.ports]
    down = [name for name, port in ports if not port.is_active]
    # A port without a cable is usual; all others of its kind having one is not.
    if down and len(down) < len(ports):
        yield f"RDMA port {', '.join(down)} not active"
    elif down:
        yield "no RDMA port is active"


def _of_deployments(facts: HostFacts) -> Iterator[str]:
    for one in facts.deployments if is_known(facts.deployments) else ():
        yield f"{one.name} {one.state}"


def _of_system(facts: HostFacts) -> Iterator[str]:
    if not is_known(facts.system):
        return
    if abs(facts.system.clock_offset_s) > CLOCK_S:
        yield f"clock {facts.system.clock_offset_s:+.1f} s"
    if not facts.system.can_sudo:
        yield "no sudo"
    if facts.noise:
        yield "login prints text"
