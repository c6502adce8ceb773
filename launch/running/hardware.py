"""Is it the hardware? The few facts of each host that decide whether ranks may be started on it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.facts.base import is_known
from inventory.facts.gather import ask
from inventory.facts.gpu import SECTIONS as GPU_SECTIONS
from inventory.quoting import quote
from launch.hosts.day_one import needs_of
from launch.hosts.gather import asked_of
from playbooks.check import run_checks
from playbooks.checks import CHECKS
from playbooks.finding import GRAVEST_FIRST, Finding, Status

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport

SECONDS = 7
ASKED = frozenset({*GPU_SECTIONS, "system", "disks", "rdma", "upkeep"})
CHECKED = (
    *("gpu.nvml", "gpu.nvml_match", "gpu.xid", "gpu.recovery_action", "gpu.remap", "gpu.throttle", "gpu.count"),
    *("fabric.state", "fabric.health", "fabric.fm_service", "fabric.imex_domain", "fabric.nvlink_errors"),
    *("os.oom_history", "sto.inodes", "rdma.ports", "rocm.kfd"),
)
"""Checks that say of running hosts whether they are sound; those of a launch's own needs are for a launch."""
FULL_BYTES = 64 << 20
"""A file system with less than this is full for all that ranks write."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """`told`: each host in words. `findings`: what does not pass. `errors`: hosts that could not be asked."""

    told: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = False

    @property
    def broken(self) -> tuple[str, ...]:
        """Hosts with a failure: nothing should be started on them."""
        return tuple(dict.fromkeys(one.host for one in self.findings if one.status is Status.FAIL))


def look_at_hardware(fleet: Fleet, hosts: Sequence[str], *, within_s: float) -> Hardware:
    """Ask `hosts` and judge; a host that does not answer in time is an error, nothing else."""

    def one(transport: Transport) -> HostFacts:
        asked = replace(asked_of(fleet.hosts, transport.host, only=ASKED), seconds=SECONDS)
        return ask(transport, asked).facts()

    outcomes = fleet.each(one, hosts, within_s=within_s)
    facts = {host: told for host, told in outcomes.items() if not isinstance(told, BringupError)}
    errors = {host: told.message for host, told in outcomes.items() if isinstance(told, BringupError)}
    reached = [fleet.hosts[host] for host in facts]
    findings = judged(facts, run_checks(facts, needs_of(reached, facts), left_out=_left_out())) if facts else ()
    return Hardware(
        told={host: in_words(one) for host, one in facts.items()},
        findings=findings,
        errors=errors,
        simulated=any(one.simulated for one in facts.values()),
    )


def _left_out() -> dict[str, str]:
    return dict.fromkeys((name for name in CHECKS if name not in CHECKED), "of a launch")


def judged(facts: Mapping[str, HostFacts], told: Sequence[Finding]) -> tuple[Finding, ...]:
    """What does not pass, the gravest first, with the file systems that are full."""
    seen = [one for one in told if one.check in CHECKED and one.status in {Status.FAIL, Status.UNKNOWN, Status.WARN}]
    seen += [finding for host, one in facts.items() for finding in _full(host, one)]
    return tuple(sorted(seen, key=lambda one: GRAVEST_FIRST.index(one.status)))


def _full(host: str, facts: HostFacts) -> list[Finding]:
    systems = facts.file_systems if is_known(facts.file_systems) else ()
    full = {one.mount: one for one in systems if one.free_bytes < FULL_BYTES and one.mount != "/dev/shm"}  # noqa: S108
    return [
        Finding(
            "sto.space",
            Status.FAIL,
            host,
            f"{one.mount}: {one.free_bytes >> 20} MiB free",
            "room for logs and caches",
            f"on {host}: df -h {quote(one.mount)}; logs of earlier generations may go first",
        )
        for one in full.values()
    ]


def in_words(facts: HostFacts) -> str:
    """GPUs and driver of a host."""
    if not is_known(facts.gpus):
        return f"GPUs unknown: {facts.gpus}"
    if not facts.gpus.devices:
        return "no GPU"
    simulated, driver = "SIMULATED " if facts.simulated else "", facts.gpus.driver or "unknown"
    return f"{len(facts.gpus.devices)} x {simulated}{facts.gpus.devices[0].name}, driver {driver}"
