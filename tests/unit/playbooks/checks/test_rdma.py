"""RDMA, DeepEP and NCCL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inventory.facts.base import NOT_ASKED
from inventory.facts.host import Device, Gid, HostFacts, Interface, LaunchContext, Limit, Nccl, RdmaDevice, RdmaPort
from playbooks.checks import (
    deepep_nic,
    deepep_params,
    nccl_identity,
    rdma_container,
    rdma_gdr,
    rdma_gid,
    rdma_ports,
    rdma_rail,
)
from playbooks.checks.base import GangCheck
from playbooks.checks.interconnect import allows
from playbooks.finding import Status
from playbooks.requirements import Build, HostRequirements, Requirements
from tests.unit.playbooks.checks.cases import HUNG, Case, GangCase, assert_gang, assert_host, gang_table, table
from tests.unit.playbooks.checks.gang import change, known, tray_needs
from tests.unit.playbooks.checks.rack import NICS, PORT, SHA, in_container, rack, rack_needs, rack_tray

GANG = (rdma_ports, rdma_gid, rdma_gdr, rdma_container)
CONTAINER = in_container(
    "--network", "host", "--device", "/dev/infiniband", "--cap-add", "IPC_LOCK", "--ulimit", "memlock=-1"
)


@pytest.mark.parametrize("check", GANG, ids=lambda check: check.ID)
def test_a_healthy_rack_is_not_refused(check: GangCheck) -> None:
    assert {finding.status for finding in check.check(rack(), rack_needs())} <= {Status.PASS, Status.SKIP}


@pytest.mark.parametrize("check", GANG, ids=lambda check: check.ID)
@pytest.mark.parametrize("told", [False, None])
def test_a_plan_without_rdma_is_skipped(check: GangCheck, told: bool | None) -> None:  # noqa: FBT001
    without = {host: replace(one, rdma=()) for host, one in rack().items()}
    assert {finding.status for finding in check.check(without, rack_needs(rdma=told))} == {Status.SKIP}


def second(**fields: Any) -> Mapping[str, HostFacts]:  # noqa: ANN401
    trays = rack()
    return {**trays, "tray2": replace(trays["tray2"], **fields)}


def env(**values: str) -> Requirements:
    needs = rack_needs()
    return replace(needs, hosts=tuple(replace(one, env=tuple(values.items())) for one in needs.hosts))


def with_port(port: RdmaPort, *others: RdmaDevice) -> Mapping[str, HostFacts]:
    return second(rdma=(replace(NICS[0], ports=(port,)), *others))


DOWN = replace(PORT, state="1: DOWN", physical_state="3: Disabled")
POLLING = replace(PORT, physical_state="2: Polling")


@gang_table(
    GangCase("all up", Status.PASS, rack(), rack_needs(), says=("4 ports",)),
    GangCase(
        "one of several down", Status.WARN, with_port(DOWN, *NICS[1:]), rack_needs(), says=("mlx5_0 port 1: 1: DOWN",)
    ),
    GangCase("the one that is named", Status.FAIL, with_port(DOWN, *NICS[1:]), env(NCCL_IB_HCA="mlx5_0"), ("tray2",)),
    GangCase("another than is named", Status.PASS, with_port(DOWN, *NICS[1:]), env(NCCL_IB_HCA="^mlx5_0")),
    GangCase("all down", Status.FAIL, with_port(DOWN), rack_needs(), ("tray2",)),
    GangCase("active, link not up", Status.FAIL, with_port(POLLING), rack_needs(), says=("Polling",)),
    GangCase("none", Status.FAIL, second(rdma=()), rack_needs(), says=("no RDMA port",)),
    GangCase("a name that is not there", Status.FAIL, rack(), env(NCCL_IB_HCA="mlx5_9"), says=("no device mlx5_9",)),
    GangCase("slower", Status.WARN, with_port(replace(PORT, rate="200 Gb/sec")), rack_needs(), says=("200 Gb/sec",)),
    GangCase("not read", Status.UNKNOWN, second(rdma=HUNG), rack_needs(), ("tray2",)),
)
def test_ports(case: GangCase) -> None:
    assert_gang(rdma_ports, case)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("", "mlx5_1 mlx5_10"),
        ("mlx5_1", "mlx5_1 mlx5_10"),
        ("=mlx5_1", "mlx5_1"),
        ("^=mlx5_1", "mlx5_10"),
        ("^mlx5_1", ""),
        ("mlx5_10:1", "mlx5_10"),
        ("mlx5_10:2", ""),
    ],
)
def test_the_words_of_nccl(said: str, names: str) -> None:
    devices = [RdmaDevice(name, ports=(PORT,)) for name in ("mlx5_1", "mlx5_10")]
    assert [one.name for one in devices if allows(said, one, PORT)] == names.split()


def mapped(index: int, last: int, kind: str = "RoCE v2") -> Gid:
    return Gid(index, f"0000:0000:0000:0000:0000:ffff:c000:02{last:02x}", kind)


def roce(*gids: Gid, address: str = "192.0.2.1") -> HostFacts:
    port = replace(PORT, link_layer="Ethernet", gids=gids)
    network = known(rack_tray().network)
    own = Interface("eth9", "up", 9000, (address,), 400_000)
    return replace(
        rack_tray(),
        rdma=(RdmaDevice("rocep1", netdevs=("eth9",), ports=(port,)),),
        network=replace(network, interfaces=(*network.interfaces, own)),
    )


LOCAL = Gid(1, "fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v2")
GOOD = roce(LOCAL, mapped(2, 1, "RoCE v1"), mapped(3, 1))


def both(second: HostFacts, first: HostFacts = GOOD) -> Mapping[str, HostFacts]:
    return {"tray1": first, "tray2": replace(second, host="tray2")}


@gang_table(
    GangCase("both at 3", Status.PASS, both(GOOD), rack_needs(), says=("index 3",)),
    GangCase("v1 alone", Status.FAIL, both(roce(mapped(2, 1, "RoCE v1"))), rack_needs(), ("tray2",), says=("rocep1",)),
    GangCase("link-local alone", Status.FAIL, both(roce(LOCAL)), rack_needs(), ("tray2",)),
    GangCase("of another address", Status.FAIL, both(roce(mapped(3, 7))), rack_needs(), ("tray2",)),
    GangCase(
        "another index", Status.WARN, both(roce(mapped(5, 1))), rack_needs(), says=("index 5 on tray2", "each host")
    ),
    GangCase(
        "the index that is named is empty",
        Status.FAIL,
        both(roce(mapped(5, 1))),
        env(NCCL_IB_GID_INDEX="3"),
        ("tray2",),
    ),
    GangCase("the index that is named", Status.PASS, both(GOOD), env(NCCL_IB_GID_INDEX="3")),
    GangCase("NCCL is to choose", Status.PASS, both(GOOD), env(NCCL_IB_GID_INDEX="-1")),
    GangCase("InfiniBand", Status.SKIP, rack(), rack_needs(), says=("no planned port of RoCE",)),
)
def test_gids(case: GangCase) -> None:
    assert_gang(rdma_gid, case)


def driver(**fields: object) -> Mapping[str, HostFacts]:
    trays = rack()
    return {**trays, "tray2": change(trays["tray2"], "driver", **fields)}


CLOSED: dict[str, object] = {"open_module": False, "memory_peers": (), "loaded": ("nvidia",)}
DEEPEP = replace(
    rack_needs(),
    hosts=tuple(
        replace(one, argv=("vllm", "serve", "m", "--all2all-backend", "deepep_low_latency"))
        for one in rack_needs().hosts
    ),
)


def old_kernel() -> Mapping[str, HostFacts]:
    trays = rack()
    closed = change(trays["tray2"], "driver", memory_peers=(), loaded=("nvidia",))
    return {**trays, "tray2": change(closed, "system", kernel="5.4.0-150-generic")}


def old_nvshmem() -> Requirements:
    return replace(DEEPEP, build=Build(packages=(("nvidia-nvshmem-cu13", "3.2.5"),)))


def with_nccl(facts: HostFacts, version: str) -> HostFacts:
    return replace(facts, nccl=(Nccl("e1", "/x", version, SHA, 1),))


def bare(environment: str = "") -> Mapping[str, HostFacts]:
    """No environment yet, or another one."""
    found = (Nccl(environment, "/x", "2.30.7", SHA, 1),) if environment else ()
    return {host: replace(one, nccl=found) for host, one in rack().items()}


@gang_table(
    GangCase("peermem", Status.PASS, driver(open_module=False), rack_needs()),
    GangCase("dmabuf", Status.PASS, driver(memory_peers=(), loaded=("nvidia",)), rack_needs()),
    GangCase("neither", Status.WARN, driver(**CLOSED), rack_needs(), ("tray2",), says=("neither",)),
    GangCase("neither, with DeepEP", Status.FAIL, driver(**CLOSED), DEEPEP, ("tray2",)),
    GangCase(
        "loaded, but not known to the RDMA stack",
        Status.WARN,
        driver(**(CLOSED | {"loaded": ("nvidia_peermem",)})),
        rack_needs(),
        says=("memory_peers is empty",),
    ),
    GangCase("an old kernel", Status.WARN, old_kernel(), rack_needs()),
    GangCase("not told", Status.SKIP, {"tray1": replace(rack_tray(), driver=NOT_ASKED)}, rack_needs()),
)
def test_gdr(case: GangCase) -> None:
    assert_gang(rdma_gdr, case)


def inside(**fields: Any) -> Mapping[str, HostFacts]:  # noqa: ANN401
    told: dict[str, Any] = {
        "devices": (Device("/dev/infiniband/uverbs0", opens=True),),
        "ipc_lock": True,
        "locked_memory": Limit(None, None),
    }
    return {"tray1": replace(rack_tray(), context=LaunchContext("container", **(told | fields)))}


@gang_table(
    GangCase("all flags", Status.PASS, rack(), rack_needs(container=CONTAINER)),
    GangCase(
        "none", Status.FAIL, rack(), rack_needs(container=in_container("--gpus", "all")), says=("memlock", "IPC_LOCK")
    ),
    GangCase(
        "privileged, no limit",
        Status.FAIL,
        rack(),
        rack_needs(container=in_container("--privileged")),
        says=("memlock=-1",),
    ),
    GangCase("seen inside", Status.PASS, inside(), rack_needs(container=in_container())),
    GangCase(
        "no devices inside", Status.FAIL, inside(devices=()), rack_needs(container=CONTAINER), says=("/dev/infiniband",)
    ),
    GangCase("a limit inside", Status.FAIL, inside(locked_memory=Limit(65536, 65536)), rack_needs(container=CONTAINER)),
    GangCase(
        "no right inside", Status.FAIL, inside(ipc_lock=False), rack_needs(container=CONTAINER), says=("IPC_LOCK",)
    ),
    GangCase("no container", Status.SKIP, rack(), rack_needs()),
    GangCase("nothing told", Status.SKIP, rack(), rack_needs(container=replace(CONTAINER, arguments=None))),
)
def test_container(case: GangCase) -> None:
    assert_gang(rdma_container, case)


@gang_table(
    GangCase("no rails", Status.SKIP, rack(), rack_needs()),
    GangCase("rails", Status.WARN, rack(), rack_needs(rail=True), says=("tray1, tray2", "NCCL_CROSS_NIC=0")),
    GangCase("rails, told", Status.PASS, rack(), replace(env(NCCL_CROSS_NIC="0"), rail=True)),
)
def test_rails(case: GangCase) -> None:
    assert_gang(rdma_rail, case)


def low_latency() -> HostRequirements:
    return replace(tray_needs(), env=(("VLLM_ALL2ALL_BACKEND", "deepep_low_latency"),))


@table(
    Case("mlx5", Status.PASS, rack_tray(), low_latency()),
    Case("by its name", Status.PASS, replace(rack_tray(), rdma=(RdmaDevice("mlx5_0"),)), low_latency()),
    Case(
        "another",
        Status.FAIL,
        replace(rack_tray(), rdma=(RdmaDevice("bnxt_re0", driver="bnxt_re"),)),
        low_latency(),
        says=("bnxt_re",),
    ),
    Case("another backend", Status.SKIP, rack_tray()),
    Case("no device tells", Status.SKIP, replace(rack_tray(), rdma=(RdmaDevice("rocep1"),)), low_latency()),
    Case("not read", Status.SKIP, replace(rack_tray(), rdma=HUNG), low_latency()),
)
def test_nic(case: Case) -> None:
    assert_host(deepep_nic, case)


BARE: dict[str, object] = {"parameters": (("EnableStreamMemOPs", "0"), ("RegistryDwords", '""'))}


@gang_table(
    GangCase("set", Status.PASS, rack(), DEEPEP),
    GangCase("missing", Status.WARN, driver(**BARE), DEEPEP, ("tray2",), says=("PeerMappingOverride=1", "3.4.5")),
    GangCase("missing, old NVSHMEM", Status.FAIL, driver(**BARE), old_nvshmem(), ("tray2",), says=("3.2.5",)),
    GangCase("GDRCopy", Status.PASS, driver(**(BARE | {"loaded": ("gdrdrv",)})), DEEPEP),
    GangCase("not told", Status.SKIP, {"tray1": change(rack_tray(), "driver", parameters=())}, DEEPEP),
    GangCase("another backend", Status.SKIP, driver(**BARE), rack_needs()),
)
def test_parameters(case: GangCase) -> None:
    assert_gang(deepep_params, case)


def nccl(version: str = "2.30.7", sha256: str = SHA, environment: str = "e1") -> Mapping[str, HostFacts]:
    return second(nccl=(Nccl(environment, "/x", version, sha256, 1),))


def pinned(version: str) -> Requirements:
    return rack_needs(build=Build(packages=(("nvidia-nccl-cu13", version),)))


def spark() -> HostFacts:
    facts = rack_tray()
    devices = tuple(replace(one, name="NVIDIA GB10") for one in known(facts.gpus).devices)
    return change(replace(facts, nccl=(Nccl("e1", "/x", "2.30.4", SHA, 1),)), "gpus", devices=devices)


@gang_table(
    GangCase("same", Status.PASS, rack(), rack_needs(), says=("2.30.7",)),
    GangCase("another build of it", Status.FAIL, nccl(sha256="cd" * 32), rack_needs(), says=("cdcdcdcdcdcd", "tray2")),
    GangCase("another version", Status.FAIL, nccl("2.29.1"), rack_needs(), says=("2.29.1",)),
    GangCase(
        "below the floor",
        Status.FAIL,
        {h: with_nccl(one, "2.21.5") for h, one in rack().items()},
        rack_needs(),
        says=("2.25.1",),
    ),
    GangCase("known to hang", Status.FAIL, {"tray1": spark()}, rack_needs(), says=("2.30.4", "GB10")),
    GangCase("not installed yet, below the floor", Status.FAIL, bare(), pinned("2.21.5"), says=("2.25.1",)),
    GangCase("not installed yet", Status.SKIP, bare(), pinned("2.30.7")),
    GangCase("another environment than the plan's", Status.SKIP, bare("e9"), rack_needs()),
    GangCase("another file is named", Status.WARN, rack(), env(VLLM_NCCL_SO_PATH="/x"), says=("VLLM_NCCL_SO_PATH",)),
)
def test_nccl(case: GangCase) -> None:
    assert_gang(nccl_identity, case)
