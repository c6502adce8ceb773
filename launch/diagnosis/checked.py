"""What checks say of the hosts as the capture found them, by what the generation stored on them. Pure.

Of a host that stores nothing, or not in a form that can be read, only those are run that need no plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from inventory.facts.base import is_known
from launch.diagnosis.stored import Stored, gpus_of, own_pids, ports_of, requirements
from playbooks.check import run_checks
from playbooks.checks import CHECKS, GANG_CHECKS
from playbooks.checks.base import pids_of
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
DECISIVE = ASKED | {"gpu.count", "net.ports_free", "net.one_address", "net.head_addr", "plan.conflict", "sto.complete"}
"""Without any of these no rank starts or goes on. What else fails may have been accepted when it was deployed."""
NOT_STORED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "what the recipe says of the model is not stored on the hosts": (
            *("plan.hw_support", "plan.load_strategy", "plan.min_version", "plan.revision", "plan.tokenizer_mode"),
            *("plan.vram_fit", "plan.tp_block", "plan.requirements", "plan.ready_timeout", "os.memory", "rdma.rail"),
        ),
        "what the build was locked to is not stored on the hosts": (
            *("gpu.arch_in_build", "gpu.driver_min", "rt.python", "rt.version_lock", "rt.cuda_mix", "rt.jit_tools"),
            *("os.arch", "os.glibc", "nccl.identity", "rocm.versions", "deepep.params", "sto.cache_stamp"),
            *("rt.image_digest", "rt.image_platform", "rt.image_ship", "rt.binary_only"),
        ),
        "secrets are hidden in the commands that were kept": ("plan.flags_parse", "plan.literal", "plan.no_empty"),
        "it is of a launch to come": (
            *("plan.restart_policy", "plan.start_skew", "sto.inodes", "sto.hub_auth", "net.proxy", "ctl.lock"),
            *("ctl.fact_freshness", "ctl.hosts_parse", "ssh.sudo", "ssh.agent_keys", "ssh.parallel_limits"),
        ),
    }
)
"""Checks that are not run, by reason."""
OWNED = ("gpu.owners", "gpu.free_mem", "net.ports_free", "plan.conflict")
"""They need to know which processes are the deployment's own."""


@dataclass(frozen=True, slots=True)
class Checked:
    """`findings`: what does not pass. `not_checked`: sentences."""

    findings: tuple[Finding, ...] = ()
    not_checked: tuple[str, ...] = ()


def checked(
    facts: Mapping[str, HostFacts], name: str, stored: Mapping[str, Stored], *, at: float | None = None
) -> Checked:
    """`name`: of the deployment, whose own processes hold their GPUs and ports by right."""
    if not facts:
        return Checked()
    known = _of_one_generation({host: one for host, one in stored.items() if host in facts})
    missing = _missing(facts, known)
    left_out = dict(_left_out(known, missing))
    found = run_checks(facts, _needs(facts, name, known, at), left_out=left_out)
    unsure = dict(_unsure(facts, known))
    kept = (
        _without_plan(one, known)
        for one in found
        if one.status in {Status.FAIL, Status.WARN}
        and (one.check in ASKED or not one.host or one.host in known)
        and (one.check, one.host) not in unsure
    )
    return Checked(tuple(kept), tuple(_told(facts, known, missing, unsure)))


def _of_one_generation(stored: Mapping[str, Stored]) -> dict[str, Stored]:
    """Those of the generation that most hosts have: what another one asked for is not this plan."""
    ids = [one.gang.generation for one in stored.values()]
    usual = max(sorted(set(ids)), key=ids.count, default="")
    return {host: one for host, one in stored.items() if one.gang.generation == usual}


def _missing(facts: Mapping[str, HostFacts], known: Mapping[str, Stored]) -> tuple[str, ...]:
    """Hosts of the gang of whom not everything is known: what compares all of them would take the rest for it."""
    gang = next((one.gang.hosts for one in known.values()), ())
    return tuple(host for host in dict.fromkeys((*gang, *facts)) if host not in known)


def _left_out(known: Mapping[str, Stored], missing: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if not known:
        yield from ((one, "it needs a plan") for one in CHECKS if one not in ASKED)
        return
    yield from ((one, reason) for reason, checks in NOT_STORED.items() for one in checks)
    if missing:
        yield from ((one.ID, "it compares all hosts") for one in GANG_CHECKS if one.ID not in ASKED)


def _told(
    facts: Mapping[str, HostFacts],
    known: Mapping[str, Stored],
    missing: tuple[str, ...],
    unsure: Mapping[tuple[str, str], str],
) -> Iterator[str]:
    for host in facts:
        if host not in known:
            yield f"checks of {host} that need the plan: its stored generation is not there, or another one"
    if not known:
        return
    if missing:
        yield f"checks that compare all hosts: {', '.join(missing)} did not tell everything"
    for reason, checks in NOT_STORED.items():
        yield f"{', '.join(checks)}: {reason}"
    for reason in dict.fromkeys(unsure.values()):
        yield reason


def _unsure(facts: Mapping[str, HostFacts], known: Mapping[str, Stored]) -> Iterator[tuple[tuple[str, str], str]]:
    """Checks of a host that would take the deployment's own processes for somebody else's."""
    for host, stored in known.items():
        one = facts[host]
        if not is_known(one.deployments):
            words = f"{', '.join(OWNED)} on {host}: which processes are the deployment's own is not known"
            yield from (((check, host), words) for check in OWNED)
        elif _runs(one, stored.gang.name) and _has_nameless_listener(one, stored):
            words = f"net.ports_free on {host}: who listens there is not told to this user, and the deployment runs"
            yield ("net.ports_free", host), words


def _runs(facts: HostFacts, name: str) -> bool:
    known = facts.deployments if is_known(facts.deployments) else ()
    return any(one.name == name and one.state in {"running", "partial"} for one in known)


def _has_nameless_listener(facts: HostFacts, stored: Stored) -> bool:
    ports = ports_of(stored)
    listeners = facts.listeners if is_known(facts.listeners) else ()
    return any(one.port in ports and not pids_of(one) for one in listeners)


def _without_plan(one: Finding, known: Mapping[str, Stored]) -> Finding:
    """Where it is not known which GPUs are planned, a job of somebody else may be where it belongs; no orphan is."""
    if one.host in known and gpus_of(known[one.host]) is not None:
        return one
    foreign = one.check == "gpu.owners" and one.status is Status.FAIL and "orphan" not in one.observed
    return replace(one, status=Status.WARN) if foreign else one


def gpu_owners(facts: HostFacts) -> str:
    """`GPU, PID, N MiB` for each process that holds memory of a GPU."""
    devices = facts.gpus.devices if is_known(facts.gpus) else ()
    held = ((gpu.index, one) for gpu in devices for one in gpu.processes)
    return "".join(f"{index}, {one.pid}, {(one.memory_bytes or 0) >> 20} MiB\n" for index, one in held)


def _needs(facts: Mapping[str, HostFacts], name: str, known: Mapping[str, Stored], at: float | None) -> Requirements:
    others = tuple(_of_host(host, one, name) for host, one in facts.items() if host not in known)
    if known:
        needs = requirements(known, facts, at=at)
        return replace(needs, hosts=(*needs.hosts, *others))
    return Requirements(
        hosts=others,
        head=others[0].host,
        head_address=None,
        vllm_version="",
        data_parallel_size=1,
        ranks=(),
        argv_errors=(),
        name=name,
        at=at,
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
        own_pids=own_pids(facts, name),
    )


def _gpus(facts: HostFacts) -> tuple[int, ...]:
    return tuple(one.index for one in facts.gpus.devices) if is_known(facts.gpus) else ()
