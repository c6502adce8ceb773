"""A whole answer of the gathering script, read into `HostFacts`. Pure: a saved answer reads the same without a host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from inventory.facts import control, upkeep
from inventory.facts.answers import Answers, first_line, unframe
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.blocks import read_blocks
from inventory.facts.caches import read_caches
from inventory.facts.containers import read_docker
from inventory.facts.context import read_context, read_numa_bind
from inventory.facts.cpu import read_cpu
from inventory.facts.deployments import read_deployments
from inventory.facts.disks import read_file_systems, read_mounts
from inventory.facts.gpu.bridges import read_bridges
from inventory.facts.gpu.nccl import read_nccl
from inventory.facts.gpu.none import read_gpus
from inventory.facts.gpu.nvidia_driver import read_arguments, read_driver
from inventory.facts.gpu.nvidia_services import read_fabric
from inventory.facts.gpu.nvlink import read_nvlink_errors
from inventory.facts.gpu.pci import read_bus_gpus
from inventory.facts.gpu.xid import read_xids
from inventory.facts.host import HostFacts
from inventory.facts.limits import read_huge_pages, read_limits
from inventory.facts.names import read_hub_token, read_installers, read_names, read_proxies
from inventory.facts.network import read_listeners, read_network
from inventory.facts.numa import read_memory, read_numa
from inventory.facts.opinion import read_flags, read_opinion
from inventory.facts.processes import read_processes
from inventory.facts.rdma import read_rdma
from inventory.facts.software import read_software
from inventory.facts.system import Sent, is_simulated, read_system
from inventory.facts.weights import read_locks, read_weight_folders

T = TypeVar("T")


def read(answer: bytes, *, host: str, noise: bytes, seconds: float, sent_at: float, received_at: float) -> HostFacts:
    """Every fact, or why it is unknown. Never raises, whatever `answer` holds."""
    return read_answers(
        unframe(answer), host=host, noise=noise, seconds=seconds, sent_at=sent_at, received_at=received_at
    )


def read_answers(
    answers: Answers, *, host: str, noise: bytes, seconds: float, sent_at: float, received_at: float
) -> HostFacts:
    """The same of an answer that was taken apart already, such as a saved one."""
    sent = Sent(sent_at, received_at)
    numa = attempt(read_numa, answers)
    file_systems = attempt(read_file_systems, answers)
    return HostFacts(
        host=host,
        system=attempt(lambda all_: read_system(all_, sent), answers),
        cpu=attempt(read_cpu, answers),
        numa=numa,
        memory=attempt(lambda all_: read_memory(all_, numa, file_systems), answers),
        file_systems=file_systems,
        network=attempt(read_network, answers),
        listeners=attempt(read_listeners, answers),
        gpus=attempt(lambda all_: read_gpus(all_, numa), answers),
        software=attempt(read_software, answers),
        deployments=attempt(read_deployments, answers),
        noise=first_line(noise)[:80],
        seconds=seconds,
        simulated=is_simulated(answers),
        rdma=attempt(read_rdma, answers),
        blocks=attempt(read_blocks, answers),
        cpu_flags=attempt(read_flags, answers),
        second_opinion=attempt(read_opinion, answers),
        limits=attempt(read_limits, answers),
        huge_pages=attempt(read_huge_pages, answers),
        fabric=attempt(read_fabric, answers),
        numa_bind=attempt(read_numa_bind, answers),
        context=attempt(read_context, answers),
        numa_balancing=attempt(upkeep.read_balancing, answers),
        session=attempt(upkeep.read_session, answers),
        ssh_server=attempt(upkeep.read_ssh_server, answers),
        updates=attempt(upkeep.read_updates, answers),
        toolchain=attempt(upkeep.read_toolchain, answers),
        load=attempt(upkeep.read_load, answers),
        missing_tools=attempt(upkeep.read_missing_tools, answers),
        glibc=attempt(upkeep.read_glibc, answers),
        machine_digest=attempt(upkeep.read_machine_digest, answers),
        clock_synchronised=attempt(upkeep.read_synchronised, answers),
        lock=attempt(upkeep.read_lock, answers),
        lock_holder=attempt(control.read_lock_holder, answers),
        way=attempt(control.read_way, answers),
        late_sections=late_sections(answers),
        read_at=received_at,
        oom_kills=attempt(upkeep.read_oom_kills, answers),
        mounts=attempt(read_mounts, answers),
        names=attempt(read_names, answers),
        proxies=attempt(read_proxies, answers),
        weight_folders=attempt(read_weight_folders, answers),
        locks=attempt(read_locks, answers),
        caches=attempt(read_caches, answers),
        docker=attempt(read_docker, answers),
        hub_token=attempt(read_hub_token, answers),
        installer_settings=attempt(read_installers, answers),
        driver=attempt(read_driver, answers),
        xids=attempt(read_xids, answers),
        nvlink_errors=attempt(read_nvlink_errors, answers),
        processes=attempt(read_processes, answers),
        nccl=attempt(read_nccl, answers),
        bridges=attempt(read_bridges, answers),
        boot_arguments=attempt(read_arguments, answers),
        bus_gpus=attempt(read_bus_gpus, answers),
    )


def late_sections(answers: Answers) -> tuple[str, ...]:
    """Sections that were asked and did not come to their end in time."""
    asked = {name.partition(".")[0] for name in answers.files if name.endswith((".end", ".end.err"))}
    silent = (answers.silence(name) for name in sorted(asked))
    return tuple(one.detail for one in silent if one.why is Why.TIMED_OUT)


def attempt(read_subject: Callable[[Answers], Maybe[T]], answers: Answers) -> Maybe[T]:
    """A subject that came in a form that its reader does not know is unknown; the others are read."""
    try:
        return read_subject(answers)
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        return Unknown(Why.UNREADABLE, first_line(str(error).encode()) or type(error).__name__)
