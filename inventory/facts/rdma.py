"""RDMA devices and their ports, from /sys/class/infiniband."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import RdmaDevice, RdmaPort
from inventory.facts.rdma_text import parse_ibstat

FILE = re.compile(r"/infiniband/([^/\s]+)/(?:ports/(\d{1,3})/|device/)?([a-z_]+):(.*)")
NETDEV = re.compile(r"/infiniband/([^/\s]+)/device/net/(\S+)")


def read_rdma(answers: Answers) -> Maybe[tuple[RdmaDevice, ...]]:
    """A host without RDMA has no such files: that is an answer."""
    text = answers.text("rdma.devices")
    if isinstance(text, Unknown):
        said = answers.text("rdma.ibstat")
        devices = () if isinstance(said, Unknown) else parse_ibstat(said)
        return devices or (() if text.why is Why.EMPTY else text)
    netdevs = answers.text("rdma.netdevs")
    return parse_devices(text, "" if isinstance(netdevs, Unknown) else netdevs)


def parse_devices(text: str, netdevs: str) -> tuple[RdmaDevice, ...]:
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
    return tuple(
        device(name, own[name], ports.get(name, {}), tuple(interfaces.get(name, ())))
        for name in sorted(own, key=by_number)
    )


def device(name: str, files: dict[str, str], ports: dict[int, dict[str, str]], netdevs: tuple[str, ...]) -> RdmaDevice:
    node = files.get("numa_node", "")
    return RdmaDevice(
        name=name,
        type=files.get("hca_type", ""),
        firmware=files.get("fw_ver", ""),
        board=files.get("board_id", ""),
        card=files.get("sys_image_guid", ""),
        numa_node=int(node) if node.isdecimal() else None,
        netdevs=netdevs,
        ports=tuple(
            RdmaPort(
                number,
                state=port.get("state", ""),
                physical_state=port.get("phys_state", ""),
                rate=port.get("rate", ""),
                link_layer=port.get("link_layer", ""),
            )
            for number, port in sorted(ports.items())
        ),
    )


def by_number(name: str) -> tuple[str, int]:
    """mlx5_2 before mlx5_10."""
    match = re.fullmatch(r"(.*?)(\d{1,9})", name)
    return (match[1], int(match[2])) if match else (name, -1)


def count_cards(devices: tuple[RdmaDevice, ...]) -> int:
    """Physical cards: devices that share a system image GUID are one; a device without one counts alone."""
    return len({one.card or one.name for one in devices})
