"""RDMA devices and their ports, from /sys/class/infiniband."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import Gid, RdmaDevice, RdmaPort
from inventory.facts.rdma_text import parse_ibstat

FILE = re.compile(r"/infiniband/([^/\s]+)/(?:ports/(\d{1,3})/|device/)?([a-z_]+):(.*)")
GID = re.compile(r"/infiniband/([^/\s]+)/ports/(\d{1,3})/(gids|gid_attrs/types)/(\d{1,3}):(.*)")
GID_VALUE = re.compile(r"[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){7}")
NO_GID = re.compile(r"[0:]*")
DRIVER = re.compile(r"/infiniband/([^/\s]+)/device/uevent:DRIVER=(\S+)")
NETDEV = re.compile(r"/infiniband/([^/\s]+)/device/net/(\S+)")


def read_rdma(answers: Answers) -> Maybe[tuple[RdmaDevice, ...]]:
    """A host without RDMA has no such files: that is an answer."""
    text = answers.text("rdma.devices")
    if isinstance(text, Unknown):
        said = answers.text("rdma.ibstat")
        devices = () if isinstance(said, Unknown) else parse_ibstat(said)
        return devices or (() if text.why is Why.EMPTY else text)
    more = [answers.text(name) for name in ("rdma.netdevs", "rdma.gids", "rdma.drivers")]
    return parse_devices(text, *("" if isinstance(one, Unknown) else one for one in more))


def parse_devices(text: str, netdevs: str, gids: str = "", drivers: str = "") -> tuple[RdmaDevice, ...]:
    """From `path:line` of the files and the paths of the interfaces, in the order of the names' numbers."""
    own: dict[str, dict[str, str]] = {}
    ports: dict[str, dict[int, dict[str, str]]] = {}
    for name, port, file, value in FILE.findall(text):
        files = own.setdefault(name, {})
        place = ports.setdefault(name, {}).setdefault(int(port), {}) if port else files
        place.setdefault(file, value.strip())
    interfaces: dict[str, list[str]] = {}
    for name, netdev in NETDEV.findall(netdevs):
        interfaces.setdefault(name, []).append(netdev)
    tables = gid_tables(gids)
    modules = dict(DRIVER.findall(drivers))
    return tuple(
        device(
            name,
            own[name],
            tuple(
                rdma_port(number, port, tables.get((name, number), {}))
                for number, port in sorted(ports.get(name, {}).items())
            ),
            tuple(interfaces.get(name, ())),
            modules.get(name, ""),
        )
        for name in sorted(own, key=by_number)
    )


def device(
    name: str, files: dict[str, str], ports: tuple[RdmaPort, ...], netdevs: tuple[str, ...], driver: str
) -> RdmaDevice:
    node = files.get("numa_node", "")
    return RdmaDevice(
        name=name,
        type=files.get("hca_type", ""),
        firmware=files.get("fw_ver", ""),
        board=files.get("board_id", ""),
        card=files.get("sys_image_guid", ""),
        numa_node=int(node) if node.isdecimal() else None,
        netdevs=netdevs,
        ports=ports,
        driver=driver,
    )


def rdma_port(number: int, files: dict[str, str], table: dict[int, dict[str, str]]) -> RdmaPort:
    link_layer = files.get("link_layer", "")
    return RdmaPort(
        number,
        state=files.get("state", ""),
        physical_state=files.get("phys_state", ""),
        rate=files.get("rate", ""),
        link_layer=link_layer,
        gids=tuple(
            Gid(index, entry["gids"], gid_type(entry.get("gid_attrs/types", ""), link_layer))
            for index, entry in sorted(table.items())
            if "gids" in entry
        ),
    )


def gid_tables(text: str) -> dict[tuple[str, int], dict[int, dict[str, str]]]:
    """By device and port, then by index: `gids` (only one that is not zero) and `gid_attrs/types`, as printed."""
    tables: dict[tuple[str, int], dict[int, dict[str, str]]] = {}
    for name, port, kind, index, line in GID.findall(text):
        value = line.strip()
        if kind != "gids" or (GID_VALUE.fullmatch(value) and not NO_GID.fullmatch(value)):
            tables.setdefault((name, int(port)), {}).setdefault(int(index), {}).setdefault(kind, value)
    return tables


def gid_type(said: str, link_layer: str) -> str:
    """The kernel calls both InfiniBand's own and the first RoCE's `IB/RoCE v1`: the link tells which."""
    if said != "IB/RoCE v1":
        return said if said == "RoCE v2" else ""
    return {"InfiniBand": "IB", "Ethernet": "RoCE v1"}.get(link_layer, "")


def by_number(name: str) -> tuple[str, int]:
    """mlx5_2 before mlx5_10."""
    match = re.fullmatch(r"(.*?)(\d{1,9})", name)
    return (match[1], int(match[2])) if match else (name, -1)


def count_cards(devices: tuple[RdmaDevice, ...]) -> int:
    """Physical cards: devices that share a system image GUID are one; a device without one counts alone."""
    return len({one.card or one.name for one in devices})
