from __future__ import annotations

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Gid, RdmaDevice, RdmaPort
from inventory.facts.rdma import count_cards, read_rdma
from inventory.facts.rdma_text import (
    parse_ibdev2netdev,
    parse_ibstat,
    parse_ibstatus,
    parse_ibv_devinfo,
    parse_rdma_link,
)
from tests.answered import Said, answers

IB = "/sys/class/infiniband"
FILES = "".join(
    f"{IB}/{line}\n"
    for line in (
        "mlx5_10/hca_type:MT4129",
        "mlx5_10/ports/1/state:1: DOWN",
        "mlx5_10/ports/1/link_layer:Ethernet",
        "mlx5_2/fw_ver:28.41.1000",
        "mlx5_2/sys_image_guid:0000:0000:0000:0001",
        "mlx5_2/device/numa_node:1",
        "mlx5_2/ports/1/state:4: ACTIVE",
        "mlx5_2/ports/1/phys_state:5: LinkUp",
        "mlx5_2/ports/1/rate:400 Gb/sec (4X NDR)",
        "mlx5_2/ports/1/link_layer:InfiniBand",
    )
)


def test_devices_of_the_kernel() -> None:
    devices = read_rdma(answers({"rdma.devices": FILES, "rdma.netdevs": f"{IB}/mlx5_2/device/net/ibp24s0\n"}))
    assert not isinstance(devices, Unknown)
    assert [one.name for one in devices] == ["mlx5_2", "mlx5_10"]
    assert devices[0] == RdmaDevice(
        name="mlx5_2",
        firmware="28.41.1000",
        card="0000:0000:0000:0001",
        numa_node=1,
        netdevs=("ibp24s0",),
        ports=(RdmaPort(1, "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", "InfiniBand"),),
    )
    assert (devices[0].ports[0].is_active, devices[0].ports[0].gigabits) == (True, 400.0)
    assert (devices[1].ports[0].is_active, devices[1].ports[0].gigabits) == (False, None)


FE80, ZERO = "fe80:0000:0000:0000:0000:0000:0000:0001", ":".join(["0000"] * 8)
MAPPED = "0000:0000:0000:0000:0000:ffff:c000:0201"
GIDS = "".join(
    f"{IB}/{line}\n"
    for line in (
        f"mlx5_10/ports/1/gids/0:{FE80}",
        f"mlx5_10/ports/1/gids/2:{MAPPED}",
        f"mlx5_10/ports/1/gids/3:{MAPPED}",
        f"mlx5_10/ports/1/gids/4:{ZERO}",
        f"mlx5_10/ports/1/gids/11:{MAPPED}",
        f"mlx5_2/ports/1/gids/0:{FE80}",
        "mlx5_10/ports/1/gid_attrs/types/0:IB/RoCE v1",
        "mlx5_10/ports/1/gid_attrs/types/2:IB/RoCE v1",
        "mlx5_10/ports/1/gid_attrs/types/3:RoCE v2",
        "mlx5_10/ports/1/gid_attrs/types/4:RoCE v2",
        "mlx5_2/ports/1/gid_attrs/types/0:IB/RoCE v1",
    )
)


def test_gids_that_are_in_use() -> None:
    devices = read_rdma(answers({"rdma.devices": FILES, "rdma.netdevs": "", "rdma.gids": GIDS}))
    assert not isinstance(devices, Unknown)
    assert devices[0].ports[0].gids == (Gid(0, FE80, "IB"),)
    assert devices[1].ports[0].gids == (
        Gid(0, FE80, "RoCE v1"),
        Gid(2, MAPPED, "RoCE v1"),
        Gid(3, MAPPED, "RoCE v2"),
        Gid(11, MAPPED, ""),  # kernels before 4.4 tell no type
    )


def test_drivers() -> None:
    said = f"{IB}/mlx5_2/device/uevent:DRIVER=mlx5_core\n"
    devices = read_rdma(answers({"rdma.devices": FILES, "rdma.drivers": said}))
    assert not isinstance(devices, Unknown)
    assert [one.driver for one in devices] == ["mlx5_core", ""]


def test_gids_that_are_none() -> None:
    text = f"{IB}/mlx5_2/ports/1/gids/0:fe80:00\n{IB}/mlx5_2/ports/1/gids/1:\n{IB}/mlx5_9/ports/1/gids/1:{FE80}\n"
    devices = read_rdma(answers({"rdma.devices": FILES, "rdma.netdevs": "", "rdma.gids": text}))
    assert not isinstance(devices, Unknown)
    assert [port.gids for one in devices for port in one.ports] == [(), ()]


def test_no_devices_is_an_answer_and_no_answer_is_none() -> None:
    assert read_rdma(answers({"rdma.devices": ""})) == ()
    hung = read_rdma(answers({}, ends={"rdma": 124}))
    assert isinstance(hung, Unknown)
    assert hung.why is Why.TIMED_OUT


def test_ibstat_where_sysfs_is_not_there() -> None:
    items: dict[str, Said] = {"rdma.devices": "", "rdma.ibstat": IBSTAT}
    devices = read_rdma(answers(items))
    assert not isinstance(devices, Unknown)
    assert count_cards(devices) == 1


IBSTAT = """CA 'mlx5_0'
\tCA type: MT4125
\tFirmware version: 22.32.2004
\tSystem image GUID: 0x0000000000000001
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 100
\t\tLink layer: Ethernet
CA 'mlx5_1'
\tCA type: MT4125
\tSystem image GUID: 0x0000000000000001
ibpanic: [1] main: stat of IB device 'mlx5_1' failed
"""


def test_ibstat_that_broke_off() -> None:
    first, second = parse_ibstat(IBSTAT)
    assert first.ports == (RdmaPort(1, "Active", "LinkUp", "100", "Ethernet"),)
    assert (second.name, second.ports) == ("mlx5_1", ())


def test_ibstatus() -> None:
    text = (
        "Infiniband device 'mlx5_0' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n"
        "\trate:\t\t 200 Gb/sec (4X HDR)\n\tlink_layer:\t InfiniBand\n"
    )
    (device,) = parse_ibstatus(text)
    assert device.ports == (RdmaPort(1, "4: ACTIVE", "5: LinkUp", "200 Gb/sec (4X HDR)", "InfiniBand"),)


def test_ibv_devinfo_names_the_transport_of_ethernet_infiniband_too() -> None:
    text = (
        "hca_id:\tmlx5_2\n\ttransport:\t\tInfiniBand (0)\n\tfw_ver:\t28.42.1000\n\tvendor_part_id:\t4129\n"
        "\t\tport:\t1\n\t\t\tstate:\t\tPORT_ACTIVE (4)\n\t\t\tlink_layer:\tEthernet\n"
    )
    (device,) = parse_ibv_devinfo(text)
    assert (device.type, device.ports[0].state, device.ports[0].link_layer) == ("4129", "PORT_ACTIVE", "Ethernet")


def test_ibdev2netdev_tells_the_state_of_the_interface_only() -> None:
    devices = parse_ibdev2netdev("mlx5_0 port 1 ==> ibp26s0 (Down)\nmlx5_1 port 1 ==> enp27s0f0np0 (Up)\n")
    assert [(one.name, one.netdevs, one.ports[0].link_layer) for one in devices] == [
        ("mlx5_0", ("ibp26s0",), "InfiniBand"),
        ("mlx5_1", ("enp27s0f0np0",), "Ethernet"),
    ]
    assert not devices[0].ports[0].is_active
    assert devices[0].ports[0].state == ""


def test_rdma_link() -> None:
    text = '[{"ifname": "ionic_0", "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "benic8p1"}]'
    (device,) = parse_rdma_link(text)
    assert (device.name, device.netdevs, device.ports[0].is_active) == ("ionic_0", ("benic8p1",), True)
