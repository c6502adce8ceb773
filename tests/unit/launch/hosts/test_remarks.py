"""What the table's last column says of a host."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import (
    Cpu,
    Fabric,
    GpuHealth,
    Gpus,
    HostFacts,
    ImexDomain,
    ImexNode,
    Limit,
    Limits,
    Link,
    RdmaDevice,
    RdmaPort,
    RunningDeployment,
    Software,
    System,
)
from launch.hosts.remarks import least_cores, remarks
from tests.answered import facts, fixture

GOOD = facts(fixture("gb200-tray"))
PARTIAL = RunningDeployment("v4", "1", head=True, state="partial", supervisor="systemd", pids=(1,))
ACTIVE, DOWN = RdmaPort(1, "4: ACTIVE"), RdmaPort(1, "1: DOWN")


def gpus(**changes: Any) -> Gpus:  # noqa: ANN401  (fields of Gpus)
    assert isinstance(GOOD.gpus, Gpus)
    return replace(GOOD.gpus, **changes)


def one_gpu(**changes: Any) -> Gpus:  # noqa: ANN401  (fields of Gpu)
    first, *others = gpus().devices
    return gpus(devices=(replace(first, **changes), *others))


def system(**changes: Any) -> System:  # noqa: ANN401  (fields of System)
    assert isinstance(GOOD.system, System)
    return replace(GOOD.system, **changes)


def fabric(**changes: Any) -> Fabric:  # noqa: ANN401  (fields of Fabric)
    assert isinstance(GOOD.fabric, Fabric)
    return replace(GOOD.fabric, **changes)


def domain(*nodes: tuple[str, str, str | None]) -> ImexDomain:
    return ImexDomain("UP", tuple(ImexNode(at, *node) for at, node in enumerate(nodes)))


def test_nothing_is_odd_about_a_good_host() -> None:
    assert remarks(GOOD) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gpus": Unknown(Why.TIMED_OUT, "nvidia: no answer")}, "gpus unknown: nvidia: no answer"),
        ({"numa": Unknown(Why.REFUSED)}, "numa unknown: refused"),
        ({"gpus": gpus(hidden=("00000009:01:00.0",))}, "1 GPU on the PCI bus that the driver does not show"),
        ({"gpus": one_gpu(name="NVIDIA B200")}, "GPUs of several kinds"),
        ({"gpus": one_gpu(mig_enabled=True)}, "MIG on GPU 0"),
        ({"gpus": one_gpu(health=GpuHealth(recovery_action="Reboot"))}, "GPU 0 needs recovery: Reboot"),
        ({"gpus": one_gpu(health=GpuHealth(remap_pending=True))}, "GPU 0 has rows of memory to remap"),
        ({"gpus": one_gpu(health=GpuHealth(remap_failure=True))}, "GPU 0 could not remap"),
        ({"gpus": one_gpu(health=GpuHealth(fabric_state="In Progress"))}, "not in the NVLink fabric: In Progress"),
        ({"gpus": one_gpu(health=GpuHealth(fabric_state="Completed", fabric_status="Failure"))}, "with Failure"),
        ({"cpu": Cpu("x", 1, (0, 1, 2), (0, 1, 2), 3, 3)}, "3 physical cores, fewer than 2 + N = 6"),
        ({"cpu": Cpu("x", 1, tuple(range(8)), (0, 1, 2, 3, 4, 5), 6, 8)}, "only 6 of 8 cores may be used"),
        ({"rdma": (RdmaDevice("mlx5_0", ports=(ACTIVE,)), RdmaDevice("mlx5_1", ports=(DOWN,)))}, "RDMA port mlx5_1:1"),
        ({"rdma": (RdmaDevice("mlx5_0", ports=(DOWN,)),)}, "no RDMA port is active"),
        ({"fabric": fabric(imex="inactive")}, "IMEX inactive: no NVLink to other trays"),
        ({"fabric": fabric(imex="absent")}, "IMEX absent: no NVLink to other trays"),
        (
            {"fabric": fabric(imex_domain=domain(("10.0.0.1", "READY", "580.1"), ("10.0.0.2", "READY", "570.9")))},
            "580.1",
        ),
        ({"fabric": fabric(imex_domain=domain(("10.0.0.1", "READY", None), ("10.0.0.2", "DOWN", None)))}, "10.0.0.2"),
        ({"fabric": fabric(manager="failed")}, "fabric manager failed"),
        ({"fabric": fabric(manager="inactive", switches=4)}, "fabric manager inactive"),
        ({"fabric": fabric(manager="active", manager_version="570.86.15")}, "570.86.15, not the driver's 580.95.05"),
        ({"gpus": gpus(links=(Link(0, "mlx5_0", "PIX"), Link(1, "mlx5_0", "SYS")))}, "GPU 1 near no NIC"),
        ({"deployments": (PARTIAL,)}, "v4 partial"),
        ({"system": system(clock_offset_s=-3.21)}, "clock -3.2 s"),
        ({"system": system(can_sudo=False)}, "no sudo"),
        ({"noise": "welcome"}, "login prints text"),
        ({"simulated": True}, "simulated"),
    ],
)
def test_what_is_odd_is_said(changes: dict[str, Any], said: str) -> None:
    found = remarks(replace(GOOD, **changes))
    assert len(found) == 1
    assert said in found[0]


def test_what_was_not_asked_is_not_odd() -> None:
    silent = {
        field.name: Unknown(Why.NOT_ASKED)
        for field in dataclasses.fields(HostFacts)
        if field.name not in {"host", "noise", "seconds", "simulated"}
    }
    assert remarks(replace(GOOD, **silent)) == ()  # type: ignore[arg-type]


def test_a_busy_gpu_and_a_full_disk() -> None:
    assert remarks(facts(fixture("h200-hgx"))) == ("GPU 3 in use by /opt/train/bin/python3",)
    assert not isinstance(GOOD.file_systems, Unknown)
    first, *others = GOOD.file_systems
    full = replace(first, free_bytes=first.total_bytes // 50, writable=False)
    said = remarks(replace(GOOD, file_systems=(full, *others)))
    assert said == (f"{first.asked} is 98% full", f"{first.asked} is not writable")


def test_a_manager_of_the_drivers_version_and_one_that_is_not_needed_are_not_odd() -> None:
    same = fabric(manager="active", manager_version="580.95.05", switches=4)
    assert remarks(replace(GOOD, fabric=same)) == ()
    assert remarks(replace(GOOD, fabric=fabric(manager="inactive", switches=0))) == ()


def test_imex_is_not_missed_where_nvlink_ends_on_the_board() -> None:
    host = facts(fixture("h200-hgx"))
    assert isinstance(host.fabric, Fabric)
    assert host.fabric.imex == "absent"
    assert not any("IMEX" in said for said in remarks(host))


@pytest.mark.parametrize(
    ("hard", "systemd", "uid", "container", "said"),
    [
        (8 << 20, None, 1000, None, True),
        (8 << 20, None, 0, "docker", True),
        (8 << 20, None, 0, None, False),  # root may lock what it likes
        (8 << 20, "255", 1000, None, False),  # units have limits of their own
        (None, None, 1000, None, False),
    ],
)
def test_locked_memory(hard: int | None, systemd: str | None, uid: int, container: str | None, said: bool) -> None:  # noqa: FBT001
    assert isinstance(GOOD.limits, Limits)
    assert isinstance(GOOD.software, Software)
    host = replace(
        GOOD,
        system=system(uid=uid),
        limits=replace(GOOD.limits, locked_memory=Limit(1 << 16, hard)),
        rdma=(RdmaDevice("mlx5_0", ports=(ACTIVE,)),),
        software=replace(GOOD.software, systemd=systemd, container=container),
    )
    assert remarks(host) == (("locked memory at most 8 MiB, too little for RDMA",) if said else ())


def test_the_rule_of_cores() -> None:
    assert least_cores(gpus()) == 6
