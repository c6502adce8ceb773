"""What the table's last column says of a host."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import (
    Cpu,
    GpuHealth,
    Gpus,
    HostFacts,
    RdmaDevice,
    RdmaPort,
    RunningDeployment,
    System,
)
from launch.remarks import least_cores, remarks
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


def test_the_rule_of_cores() -> None:
    assert least_cores(gpus()) == 6
