"""Two trays of a rack as all their facts tell them, and an HGX board: healthy, to be changed by each test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inventory.facts.host import (
    Device,
    Driver,
    Fabric,
    GpuHealth,
    HostFacts,
    ImexDomain,
    ImexNode,
    LaunchContext,
    Library,
    Nccl,
    RdmaDevice,
    RdmaPort,
)
from playbooks.requirements import Build, Container, HostRequirements, Requirements
from tests.unit.playbooks.checks.gang import ADDRESSES, gang_needs, gpu, known, tray, tray_needs

CLUSTER = "9c6f5af3-53bf-49b5-a436-000000000001"
CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"
HEALTHY = GpuHealth(
    remap_pending=False,
    remap_failure=False,
    recovery_action="None",
    fabric_state="Completed",
    fabric_status="Success",
    fabric_clique="4026",
    fabric_cluster=CLUSTER,
    fabric_health=(("summary", "Healthy"), ("bandwidth", "Full"), ("route_unhealthy", "False")),
    peer_type="Switch Connected",
    remapped_rows=0,
    uncorrectable_errors=0,
    slowdowns=(),
    power_limit_w=1200.0,
    clock_max_mhz=2062,
    vbios="97.00.B9.00.69",
)
NODES = tuple(ImexNode(index, address, "READY", "580.95.05") for index, address in enumerate(ADDRESSES.values()))
DOMAIN = ImexDomain("UP", NODES)
JOINED = Fabric("absent", None, "active", tuple(ADDRESSES.values()), (0,), switches=0, imex_device=True)
SHA = "ab" * 32
PORT = RdmaPort(1, "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", "InfiniBand")
NICS = tuple(RdmaDevice(f"mlx5_{n}", netdevs=(f"ibp{n}",), ports=(PORT,), driver="mlx5_core") for n in range(4))


def rack_tray(host: str = "tray1", **health: Any) -> HostFacts:  # noqa: ANN401
    """`health`: what is different on GPU 2."""
    facts = tray(host)
    devices = tuple(
        replace(
            gpu(index, host),
            health=replace(HEALTHY, **health) if index == 2 else HEALTHY,
            free_bytes=184 * 2**30,
        )
        for index in range(4)
    )
    return replace(
        facts,
        gpus=replace(known(facts.gpus), devices=devices),
        driver=Driver(
            module="580.95.05",
            open_module=True,
            library="580.95.05",
            libcuda=(Library("/usr/lib/aarch64-linux-gnu/libcuda.so.1", "580.95.05"),),
            parameters=(("EnableStreamMemOPs", "1"), ("RegistryDwords", "PeerMappingOverride=1;")),
            loaded=("nvidia", "nvidia_peermem", "mlx5_core", "mlx5_ib", "ib_umad"),
            memory_peers=("nv_mem",),
            nvlsm=False,
            next_kernel="6.8.0-64-generic-64k",
            next_kernel_module=True,
        ),
        fabric=Fabric(
            "absent", None, "active", tuple(ADDRESSES.values()), (0,), switches=0, imex_device=True, imex_domain=DOMAIN
        ),
        context=LaunchContext("systemd-unit", user="ops", uid=1000, devices=(Device(CHANNEL, opens=True),)),
        rdma=NICS,
        nccl=(Nccl("e1", "/envs/e1/libnccl.so.2", "2.30.7", SHA, 300_000_000, "3.4.5"),),
        xids=(),
        boot_arguments="quiet",
    )


def rack(**health: Any) -> dict[str, HostFacts]:  # noqa: ANN401
    """Both trays; `health` is that of GPU 2 on the second."""
    return {"tray1": rack_tray("tray1"), "tray2": rack_tray("tray2", **health)}


def rack_needs(**fields: Any) -> Requirements:  # noqa: ANN401
    told: dict[str, Any] = {
        "mnnvl": True,
        "rdma": True,
        "environment": "e1",
        "hardware": "gb200",
        "build": Build(architectures=("9.0", "10.0")),
    }
    return replace(gang_needs(), **(told | fields))


def hgx(name: str = "NVIDIA H200", **health: Any) -> HostFacts:  # noqa: ANN401
    """A board of eight with its own NVSwitches."""
    facts = rack_tray("hgx1")
    own = replace(HEALTHY, **({"peer_type": None, "fabric_clique": "0", "fabric_cluster": None} | health))
    devices = tuple(replace(gpu(index, "hgx1"), name=name, health=own) for index in range(8))
    fabric = Fabric("active", "580.95.05", "absent", (), (), switches=4)
    return replace(facts, gpus=replace(known(facts.gpus), devices=devices), fabric=fabric)


def hgx_needs() -> HostRequirements:
    return replace(tray_needs("hgx1"), gpus=tuple(range(8)), gpu_profile="h200")


def pcie(name: str = "NVIDIA L40S") -> HostFacts:
    """Four GPUs without NVLink."""
    facts = rack_tray("tray1")
    devices = tuple(replace(gpu(index, "tray1"), name=name, health=GpuHealth()) for index in range(4))
    fabric = Fabric("inactive", None, "absent", (), (), switches=0)
    return replace(facts, gpus=replace(known(facts.gpus), devices=devices), fabric=fabric)


def in_container(*arguments: str) -> Container:
    return Container(image="vllm", arguments=arguments)
