"""Whole hosts, as the script would have told them (tests/fixtures/hosts)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Fabric, HostFacts, Link, NvlinkErrors
from inventory.facts.rdma import count_cards
from tests.answered import HOSTS, facts, fixture

GIB = 1 << 30


@dataclass(frozen=True)
class Expected:
    sockets: int
    cores: int
    nodes_with_cpus: int
    memory_gib: int
    vendor: str | None  # None: unknown
    name: str = ""
    near: tuple[int, ...] = ()  # NUMA node of each GPU
    gpu_gib: int | None = None


EXPECTED = {
    "h200-hgx": Expected(2, 112, 2, 2015, "nvidia", "NVIDIA H200", (0,) * 4 + (1,) * 4, 140),
    "gb200-tray": Expected(2, 144, 2, 956, "nvidia", "NVIDIA GB200", (0, 0, 1, 1), 185),
    "gb300-tray": Expected(2, 144, 2, 956, "nvidia", "NVIDIA GB300", (0, 0, 1, 1), 277),
    "dgx-spark": Expected(1, 20, 1, 119, "nvidia", "NVIDIA GB10", (0,), None),
    "l40s-4x": Expected(1, 64, 4, 503, "nvidia", "NVIDIA L40S", (3, 1, 2, 2), 44),
    "mi355x-8x": Expected(2, 128, 2, 2952, "amd", "AMD Instinct MI355X", (0,) * 4 + (1,) * 4, 287),
    "mi300x-cpx": Expected(2, 192, 2, 2213, "amd", "AMD Instinct MI300X", (0,) * 32 + (1,) * 32, 23),
    "cpu-only": Expected(8, 8, 1, 31, "none"),
    "broken-driver": Expected(2, 48, 2, 503, None),
}


def test_every_fixture_is_expected() -> None:
    assert {folder.name for folder in HOSTS.iterdir() if folder.is_dir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_host(name: str) -> None:
    host, expected = facts(fixture(name)), EXPECTED[name]
    assert not isinstance(host.cpu, Unknown)
    assert not isinstance(host.numa, Unknown)
    assert not isinstance(host.memory, Unknown)
    assert (host.cpu.sockets, host.cpu.physical_cores) == (expected.sockets, expected.cores)
    assert len([node for node in host.numa if node.cpus]) == expected.nodes_with_cpus
    assert host.memory.total_bytes // GIB == expected.memory_gib
    if expected.vendor is None:
        assert isinstance(host.gpus, Unknown)
        return
    assert not isinstance(host.gpus, Unknown)
    assert host.gpus.vendor == expected.vendor
    assert {one.name for one in host.gpus.devices} <= {expected.name}
    assert tuple(one.numa_node for one in host.gpus.devices) == expected.near
    sizes = {one.memory_bytes // GIB if one.memory_bytes else None for one in host.gpus.devices}
    assert sizes <= {expected.gpu_gib}
    assert host.gpus.hidden == ()


def test_links_of_whole_hosts() -> None:
    hgx = facts(fixture("h200-hgx")).gpus
    assert not isinstance(hgx, Unknown)
    assert [one.kind for one in hgx.links if isinstance(one.to, int)] == ["NV18"] * (8 * 7 // 2)
    assert len(hgx.links) == 8 * 7 // 2 + 8 * 9
    assert [hgx.nearest_nics(gpu) for gpu in range(8)] == [(Link(gpu, f"mlx5_{gpu}", "PXB"),) for gpu in range(8)]
    tray = facts(fixture("gb200-tray")).gpus
    assert not isinstance(tray, Unknown)
    assert tray.nearest_nics(0) == ()  # all are across sockets


def test_what_joins_the_gpus_of_whole_hosts() -> None:
    hgx, tray = facts(fixture("h200-hgx")), facts(fixture("gb200-tray"))
    assert hgx.fabric == Fabric("active", "580.95.05", "absent", (), (), switches=4)
    assert not isinstance(tray.fabric, Unknown)
    assert (tray.fabric.manager, tray.fabric.imex, tray.fabric.switches) == ("absent", "active", 0)
    assert (tray.fabric.imex_nodes, tray.fabric.imex_channels) == (("192.0.2.21", "192.0.2.22"), (0,))
    assert tray.fabric.imex_device is True
    assert tray.fabric.imex_domain is not None
    assert (tray.fabric.imex_domain.state, tray.fabric.imex_domain.broken) == ("UP", ())
    for host, locked in ((hgx, None), (tray, 8 << 20)):
        assert not isinstance(host.limits, Unknown)
        assert host.limits.locked_memory.soft == locked
        assert not isinstance(host.huge_pages, Unknown)
        assert (host.huge_pages.total, host.huge_pages.transparent) == (0, "madvise")


def test_the_driver_of_a_tray() -> None:
    tray = facts(fixture("gb200-tray"))
    assert not isinstance(tray.driver, Unknown)
    assert (tray.driver.module, tray.driver.library, tray.driver.open_module) == ("580.95.05", "580.95.05", True)
    assert (tray.driver.next_kernel_module, tray.driver.memory_peers) == (True, ("nv_mem",))
    assert not isinstance(tray.xids, Unknown)
    assert [(one.code, one.gpu, one.age_s) for one in tray.xids] == [(43, "0008:01:00", 86400.25 - 61.500001)]
    assert tray.nvlink_errors == tuple(NvlinkErrors(gpu, 0) for gpu in range(4))
    assert (tray.processes, tray.nccl) == ((), ())


@pytest.mark.parametrize("name", EXPECTED)
def test_all_else_is_known(name: str) -> None:
    host = facts(fixture(name))
    facts_of = {field.name: getattr(host, field.name) for field in dataclasses.fields(HostFacts)}
    unknown = [name for name, fact in facts_of.items() if isinstance(fact, Unknown) and fact.why is not Why.NOT_ASKED]
    assert unknown == (["gpus"] if EXPECTED[name].vendor is None else [])
    assert host.simulated is False


def test_rdma_devices_of_a_board_a_card_and_another_vendor() -> None:
    """Eight InfiniBand cards beside an Ethernet one; one card in two PCIe domains; eight NICs of another vendor."""
    rdma = {name: facts(fixture(name)).rdma for name in ("h200-hgx", "dgx-spark", "mi355x-8x")}
    assert not any(isinstance(one, Unknown) for one in rdma.values())
    h200, spark, mi355x = (one for one in rdma.values() if not isinstance(one, Unknown))
    assert [one.ports[0].link_layer for one in h200] == ["InfiniBand"] * 8 + ["Ethernet"]
    assert [one.numa_node for one in h200] == [0, 0, 0, 0, 1, 1, 1, 1, 0]
    assert [(gid.index, gid.type) for gid in h200[8].ports[0].gids][-1] == (3, "RoCE v2")
    assert [gid.type for gid in h200[0].ports[0].gids] == ["IB"]
    assert (len(spark), count_cards(spark)) == (4, 1)
    assert [one.ports[0].is_active for one in spark] == [True, False, True, False]
    assert all(one.numa_node is None for one in spark)
    assert {one.name for one in mi355x} == {f"ionic_{index}" for index in range(8)}
    assert [one.driver for one in mi355x] == ["ionic_rdma"] * 8
