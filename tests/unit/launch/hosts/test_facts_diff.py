"""What changed between two looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inventory.errors import HostUnreachable
from inventory.facts.base import Unknown, Why
from inventory.facts.host import (
    Cpu,
    Driver,
    Fabric,
    Gpus,
    ImexDomain,
    Memory,
    Network,
    NvlinkErrors,
    RdmaDevice,
    RdmaPort,
    RunningDeployment,
    Software,
    System,
    Xid,
)
from launch.hosts.facts_diff import Gravity, compare, differences
from tests.answered import facts, fixture

HOST = facts(fixture("gb200-tray"))
PORT = RdmaPort(1, "4: ACTIVE", rate="400 Gb/sec")


def system(**changes: Any) -> System:  # noqa: ANN401  (fields)
    assert isinstance(HOST.system, System)
    return replace(HOST.system, **changes)


def gpus(**changes: Any) -> Gpus:  # noqa: ANN401  (fields)
    assert isinstance(HOST.gpus, Gpus)
    return replace(HOST.gpus, **changes)


def other_gpu() -> Gpus:
    first, *others = gpus().devices
    return gpus(devices=(replace(first, uuid="GPU-x"), *others))


def fabric(**changes: Any) -> Fabric:  # noqa: ANN401  (fields)
    assert isinstance(HOST.fabric, Fabric)
    return replace(HOST.fabric, **changes)


def driver(**changes: Any) -> Driver:  # noqa: ANN401  (fields)
    assert isinstance(HOST.driver, Driver)
    return replace(HOST.driver, **changes)


def network(**changes: Any) -> Network:  # noqa: ANN401  (fields of the second interface)
    assert isinstance(HOST.network, Network)
    first, second, *others = HOST.network.interfaces
    return replace(HOST.network, interfaces=(first, replace(second, **changes), *others))


def software(**changes: Any) -> Software:  # noqa: ANN401  (fields)
    assert isinstance(HOST.software, Software)
    return replace(HOST.software, **changes)


def memory(total: int) -> Memory:
    assert isinstance(HOST.memory, Memory)
    return replace(HOST.memory, total_bytes=total)


def deployments(state: Any) -> tuple[RunningDeployment, ...]:  # noqa: ANN401  (a state)
    return (RunningDeployment("v4", "g1", head=True, state=state, supervisor="systemd", pids=(1,)),)


def test_nothing_changed() -> None:
    assert list(compare(HOST, HOST)) == []


@pytest.mark.parametrize(
    ("changes", "gravity", "said"),
    [
        ({"system": system(boot_id="other")}, Gravity.OTHER, "was rebooted (another boot id)"),
        ({"system": system(kernel="6.11.0")}, Gravity.OTHER, "-> 6.11.0"),
        ({"gpus": gpus(driver="590.1")}, Gravity.OTHER, "driver 580.95.05 -> 590.1"),
        ({"gpus": gpus(devices=gpus().devices[1:])}, Gravity.LOST, "GPU 0 at 00000008:01:00.0 is gone (NVIDIA GB200)"),
        ({"gpus": Unknown(Why.TIMED_OUT, "hangs")}, Gravity.LOST, "gpus was known, is unknown (timed-out: hangs)"),
        (
            {"gpus": gpus(devices=(replace(gpus().devices[0], uuid="GPU-x"), *gpus().devices[1:]))},
            Gravity.OTHER,
            "UUID",
        ),
        ({"fabric": fabric(imex="failed")}, Gravity.OTHER, "IMEX active -> failed"),
        ({"fabric": fabric(imex_nodes=("192.0.2.21",))}, Gravity.OTHER, "IMEX nodes"),
        ({"fabric": fabric(imex_domain=ImexDomain("DEGRADED"))}, Gravity.OTHER, "IMEX domain UP -> DEGRADED"),
        ({"driver": driver(library="590.1")}, Gravity.OTHER, "driver library 580.95.05 -> 590.1"),
        ({"xids": (Xid(79, "0008:01:00", 5.0, "x"),)}, Gravity.LOST, "Xid 79 of GPU 0008:01:00"),
        ({"nvlink_errors": (NvlinkErrors(0, 7),)}, Gravity.CHANGED, "NVLink errors of GPU 0 0 -> 7"),
        ({"network": network(state="down")}, Gravity.LOST, "up -> down"),
        ({"network": network(mtu=9000)}, Gravity.CHANGED, "-> 9000"),
        ({"software": software(docker="99.1")}, Gravity.OTHER, "-> 99.1"),
        ({"memory": memory(1 << 33)}, Gravity.LOST, "memory 957 GiB -> 8 GiB"),
        ({"cpu": Cpu("x", 2, (0, 1), (0, 1), 2, 2)}, Gravity.LOST, "allowed CPUs 0-143 -> 0-1"),
        ({"deployments": deployments("running")}, Gravity.NEW, "deployment v4 is new"),
    ],
)
def test_a_change(changes: dict[str, Any], gravity: Gravity, said: str) -> None:
    [(found, text)] = compare(HOST, replace(HOST, **changes))
    assert (found, said in text) == (gravity, True), text


def test_a_port_down_and_a_death() -> None:
    before = replace(HOST, rdma=(RdmaDevice("mlx5_0", ports=(PORT,)),), deployments=deployments("running"))
    down = replace(PORT, state="1: DOWN")
    now = replace(HOST, rdma=(RdmaDevice("mlx5_0", ports=(down,)),), deployments=deployments("dead"))
    assert list(compare(before, now)) == [
        (Gravity.LOST, "RDMA port mlx5_0:1 4: ACTIVE 400 Gb/sec -> 1: DOWN 400 Gb/sec"),
        (Gravity.LOST, "deployment v4 g1 running -> g1 dead"),
    ]


def test_the_age_of_an_error_is_no_change() -> None:
    errors = (Xid(48, "0008:01:00", 5.0, "x"), Xid(None, "0009:01:00", 5.0, "fallen off the bus"))
    before = replace(HOST, xids=errors)
    later = replace(HOST, xids=tuple(replace(one, age_s=500.0) for one in errors))
    assert list(compare(before, later)) == []
    assert [text for _, text in compare(replace(HOST, xids=()), later)][1] == "GPU 0009:01:00 fell off the bus"


def test_a_little_memory_is_no_change() -> None:
    assert isinstance(HOST.memory, Memory)
    assert list(compare(HOST, replace(HOST, memory=memory(HOST.memory.total_bytes - (1 << 30))))) == []


def test_the_gravest_comes_first_over_all_hosts() -> None:
    before = {"a": HOST, "b": HOST, "c": HOST}
    now = {
        "a": replace(HOST, deployments=deployments("running"), system=system(boot_id="x")),
        "b": replace(HOST, gpus=gpus(devices=())),
        "d": HOST,
    }
    found = differences(before, now, {"c": HostUnreachable("no answer", id="timeout")})
    assert [str(one) for one in found][:1] == ["b: GPU 0 at 00000008:01:00.0 is gone (NVIDIA GB200)"]
    assert [one.host for one in found] == ["b"] * 4 + ["c", "a", "a", "d"]
    assert str(found[4]) == "c: does not answer: no answer"
