"""A healthy gang of two GB200 trays and a healthy CPU host, to be changed by each test. Numbers are made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from inventory.facts.base import Maybe, is_known
from inventory.facts.host import (
    Cpu,
    Environment,
    FileSystem,
    Gpu,
    GpuHealth,
    GpuProcess,
    Gpus,
    HostFacts,
    Interface,
    Listener,
    Memory,
    Network,
    Route,
    Software,
    System,
)
from playbooks.requirements import HostRequirements, Processes, Requirements, Space

T = TypeVar("T")
GIB = 2**30
GB = 10**9
ENVIRONMENT = Environment("d1" * 32, "0.33.0", complete=True, simulated=False)
IN_FABRIC = GpuHealth(fabric_state="Completed", fabric_status="Success")
ADDRESSES = {"tray1": "10.10.0.11", "tray2": "10.10.0.12"}


def known(fact: Maybe[T]) -> T:
    assert is_known(fact)
    return fact


def change(facts: HostFacts, subject: str, **fields: Any) -> HostFacts:  # noqa: ANN401
    """`facts` with some fields of one subject changed: `change(facts, "memory", available_bytes=0)`."""
    return replace(facts, **{subject: replace(known(getattr(facts, subject)), **fields)})


def system(host: str) -> System:
    return System(
        id="ubuntu",
        version="24.04",
        family="debian",
        kernel="6.8.0-64-generic-64k",
        architecture="aarch64",
        boot_id=f"boot-of-{host}",
        hostname=host,
        user="ops",
        uid=1000,
        can_sudo=True,
        clock_offset_s=0.02,
    )


def gpu(index: int, host: str, *processes: GpuProcess) -> Gpu:
    return Gpu(
        index=index,
        name="NVIDIA GB200",
        uuid=f"GPU-{host}-{index}",
        memory_bytes=185 * GIB,
        pci_address=f"{index:08x}:01:00.0",
        numa_node=index // 2,
        compute_capability="10.0",
        mig_enabled=False,
        processes=processes,
        health=IN_FABRIC,
    )


def gpus(host: str, *processes_of_0: GpuProcess) -> Gpus:
    devices = (gpu(0, host, *processes_of_0), *(gpu(i, host) for i in (1, 2, 3)))
    return Gpus("nvidia", "580.95.05", "13.0", devices, simulated=False)


def network(host: str) -> Network:
    interfaces = (
        Interface("lo", "unknown", 65536, ("127.0.0.1", "::1"), None),
        Interface("eth0", "up", 1500, ("192.0.2.7",), 10_000),
        Interface("enP5p9s0", "up", 9000, (ADDRESSES.get(host, "10.10.0.99"),), 400_000),
    )
    routes = tuple(Route(to, "enP5p9s0", ADDRESSES.get(host, "10.10.0.99")) for to in ADDRESSES.values())
    return Network(interfaces, routes, (32768, 60999))


def tray(host: str = "tray1") -> HostFacts:
    cpus = tuple(range(144))
    root = FileSystem("/var/lib/bringup", "/", "ext4", 4000 * GB, 3000 * GB, 200_000_000, writable=True)
    return HostFacts(
        host=host,
        system=system(host),
        cpu=Cpu("Neoverse-V2", 2, cpus, cpus, 144, 144),
        numa=(),
        memory=Memory(900 * GIB, 850 * GIB, 450 * GIB),
        file_systems=(root,),
        network=network(host),
        listeners=(Listener("0.0.0.0", 22, "sshd(900)"),),  # noqa: S104
        gpus=gpus(host),
        software=Software("255", None, None, None, "3.12.3", None, (ENVIRONMENT,), ()),
        deployments=(),
        noise="",
        seconds=0.4,
    )


def tray_needs(host: str = "tray1") -> HostRequirements:
    head = host == "tray1"
    return HostRequirements(
        host=host,
        gpus=(0, 1, 2, 3),
        gpu_profile="gb200",
        memory_per_gpu_bytes=140 * GIB,
        host_memory_bytes=200 * GIB,
        processes=Processes(8, 1, 4, 4, 1) if head else Processes(0, 1, 4, 4, 0),
        address=ADDRESSES.get(host),
        interface="enP5p9s0",
        ports=(8000, 29550) if head else (),
        space=(
            Space("/var/lib/bringup/weights/org--model", 865 * GB, "weights"),
            Space("/var/lib/bringup/envs", 12 * GB, "environment"),
        ),
        own_pids=(),
        needs_root=("system units",),
        gpu_runtime="13.0",
    )


def cpu_host(host: str = "tray1") -> HostFacts:
    cpus = (0, 1)
    facts = replace(
        tray(host),
        cpu=Cpu("EPYC", 1, cpus, cpus, 2, 2),
        gpus=Gpus("none", None, None, (), simulated=False),
    )
    return change(facts, "system", architecture="x86_64")


def cpu_needs(host: str = "tray1") -> HostRequirements:
    return replace(
        tray_needs(host),
        gpus=(),
        gpu_profile=None,
        memory_per_gpu_bytes=None,
        processes=Processes(1, 0, 1, 1, 0),
        gpu_runtime=None,
    )


def trays() -> dict[str, HostFacts]:
    return {host: tray(host) for host in ADDRESSES}


def gang_needs() -> Requirements:
    return Requirements(
        hosts=(tray_needs("tray1"), tray_needs("tray2")),
        head="tray1",
        head_address="10.10.0.11",
        vllm_version="0.33.0",
        data_parallel_size=8,
        ranks=("tray1",) * 4 + ("tray2",) * 4,
        argv_errors=(),
    )


def with_host(needs: Requirements, host: str, **fields: Any) -> Requirements:  # noqa: ANN401
    """`needs` with some fields of one host changed."""
    hosts = tuple(replace(one, **fields) if one.host == host else one for one in needs.hosts)
    return replace(needs, hosts=hosts)


def alone(needs: HostRequirements) -> Requirements:
    """The requirements of a deployment on one host."""
    size = needs.processes.engine_cores
    return replace(
        gang_needs(),
        hosts=(needs,),
        head=needs.host,
        data_parallel_size=size,
        ranks=(needs.host,) * size,
        head_address=None,
    )
