"""What checks say of the hosts as the capture found them: those that need no plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from playbooks.check import run_checks
from playbooks.checks import CHECKS
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Processes, Requirements

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts

ASKED = frozenset(
    (
        *(
            "gpu.xid",
            "gpu.recovery_action",
            "gpu.remap",
            "gpu.nvml",
            "gpu.nvml_match",
            "gpu.owners",
            "gpu.compat_shadow",
        ),
        *("fabric.state", "fabric.fm_version", "fabric.health", "fabric.nvlink_errors", "os.oom_history", "os.clock"),
        *("os.shm", "rdma.ports", "net.mtu_equal", "sto.jit_cache_local", "os.exec_dirs", "rocm.kfd"),
    )
)
"""Checks that tell a fault of the host itself, whatever runs there."""


def findings(facts: Mapping[str, HostFacts], name: str) -> tuple[Finding, ...]:
    """What does not pass. GPUs of the deployment's own processes have their owner."""
    if not facts:
        return ()
    left_out = {check: "it needs a plan" for check in CHECKS if check not in ASKED}
    found = map(_without_plan, run_checks(facts, _needs(facts, name), left_out=left_out))
    return tuple(one for one in found if one.status in {Status.FAIL, Status.WARN} and one.check in ASKED)


def _without_plan(one: Finding) -> Finding:
    """Which GPUs are planned is not known: a job of somebody else may be where it belongs, an orphan never is."""
    foreign = one.check == "gpu.owners" and one.status is Status.FAIL and "orphan" not in one.observed
    return replace(one, status=Status.WARN) if foreign else one


def gpu_owners(facts: HostFacts) -> str:
    """`GPU, PID, N MiB` for each process that holds memory of a GPU."""
    devices = facts.gpus.devices if is_known(facts.gpus) else ()
    held = ((gpu.index, one) for gpu in devices for one in gpu.processes)
    return "".join(f"{index}, {one.pid}, {(one.memory_bytes or 0) >> 20} MiB\n" for index, one in held)


def _needs(facts: Mapping[str, HostFacts], name: str) -> Requirements:
    hosts = tuple(_of_host(host, one, name) for host, one in facts.items())
    return Requirements(
        hosts=hosts,
        head=hosts[0].host,
        head_address=None,
        vllm_version="",
        data_parallel_size=1,
        ranks=(),
        argv_errors=(),
        name=name,
    )


def _of_host(host: str, facts: HostFacts, name: str) -> HostRequirements:
    return HostRequirements(
        host=host,
        gpus=_gpus(facts),
        gpu_profile=None,
        memory_per_gpu_bytes=None,
        host_memory_bytes=None,
        processes=Processes(0, 0, 0, 0, 0),
        address=None,
        interface=None,
        ports=(),
        space=(),
        own_pids=_own(facts, name),
    )


def _gpus(facts: HostFacts) -> tuple[int, ...]:
    return tuple(one.index for one in facts.gpus.devices) if is_known(facts.gpus) else ()


def _own(facts: HostFacts, name: str) -> tuple[int, ...]:
    """Processes of the deployment while its main process lives: afterwards they are left over."""
    known = facts.deployments if is_known(facts.deployments) else ()
    return tuple(pid for one in known if one.name == name and one.state == "running" for pid in one.pids)
