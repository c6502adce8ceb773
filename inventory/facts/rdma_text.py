"""RDMA devices as the tools print them: `ibstat`, `ibstatus`, `ibv_devinfo`, `ibdev2netdev`, `rdma link -j`.

They are read where a report holds them; on a host /sys/class/infiniband tells the same without a tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from inventory.facts.host import RdmaDevice, RdmaPort
from inventory.facts.jsontext import as_objects, parse

Ports = list[tuple[int, Mapping[str, str]]]
CA = re.compile(r"^CA '([^']+)'\s*$", re.MULTILINE)
IBSTATUS = re.compile(r"^Infiniband device '([^']+)' port (\d{1,3}) status:\s*$", re.MULTILINE)
HCA = re.compile(r"^hca_id:\s*(\S+)\s*$", re.MULTILINE)
PORT = re.compile(r"^\s*[Pp]ort:?\s*(\d{1,3}):?\s*$", re.MULTILINE)
NETDEV = re.compile(r"^(\S+)\s+port\s+(\d{1,3})\s+==>\s+(\S+)\s+\((Up|Down)\)\s*$", re.MULTILINE)
FIELD = re.compile(r"^\s*([A-Za-z][\w /]*?):[ \t]*(.*?)\s*$", re.MULTILINE)


def parse_ibstat(text: str) -> tuple[RdmaDevice, ...]:
    """Also of an answer that broke off: a device without its port's lines has no port."""
    return tuple(
        RdmaDevice(
            name,
            type=fields.get("CA type", ""),
            firmware=fields.get("Firmware version", ""),
            card=fields.get("System image GUID", ""),
            ports=tuple(
                RdmaPort(
                    number, f.get("State", ""), f.get("Physical state", ""), f.get("Rate", ""), f.get("Link layer", "")
                )
                for number, f in ports
            ),
        )
        for name, fields, ports in devices_in(CA, text)
    )


def parse_ibv_devinfo(text: str) -> tuple[RdmaDevice, ...]:
    return tuple(
        RdmaDevice(
            name,
            type=fields.get("vendor_part_id", ""),
            firmware=fields.get("fw_ver", ""),
            board=fields.get("board_id", ""),
            card=fields.get("sys_image_guid", ""),
            ports=tuple(
                RdmaPort(number, state=f.get("state", "").partition(" (")[0], link_layer=f.get("link_layer", ""))
                for number, f in ports
            ),
        )
        for name, fields, ports in devices_in(HCA, text)
    )


def devices_in(head: re.Pattern[str], text: str) -> list[tuple[str, Mapping[str, str], Ports]]:
    """Each device's name, its own fields, and its ports with theirs."""
    parts = head.split(text)[1:]
    found: list[tuple[str, Mapping[str, str], Ports]] = []
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        own, *ports = PORT.split(body)
        pairs: Ports = [(int(number), fields_in(part)) for number, part in zip(ports[::2], ports[1::2], strict=True)]
        found.append((name, fields_in(own), pairs))
    return found


def fields_in(text: str) -> dict[str, str]:
    return dict(FIELD.findall(text))


def parse_ibstatus(text: str) -> tuple[RdmaDevice, ...]:
    parts = IBSTATUS.split(text)[1:]
    devices: dict[str, list[RdmaPort]] = {}
    for name, number, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        f = fields_in(body)
        port = RdmaPort(
            int(number), f.get("state", ""), f.get("phys state", ""), f.get("rate", ""), f.get("link_layer", "")
        )
        devices.setdefault(name, []).append(port)
    return tuple(RdmaDevice(name, ports=tuple(ports)) for name, ports in devices.items())


def parse_ibdev2netdev(text: str) -> tuple[RdmaDevice, ...]:
    """(Up) and (Down) are the state of the network interface, not of the port. An `ib` name is InfiniBand's."""
    return tuple(
        RdmaDevice(name, netdevs=(netdev,), ports=(RdmaPort(int(number), link_layer=layer_of(netdev)),))
        for name, number, netdev, _ in NETDEV.findall(text)
    )


def layer_of(netdev: str) -> str:
    return "InfiniBand" if netdev.startswith("ib") else "Ethernet"


def parse_rdma_link(text: str) -> tuple[RdmaDevice, ...]:
    """`rdma link -j`: one entry a port."""
    return tuple(
        RdmaDevice(
            link.text("ifname"),
            netdevs=(link.text("netdev"),),
            ports=(
                RdmaPort(
                    link.number("port") or 0,
                    state=link.text("state"),
                    physical_state=link.text("physical_state"),
                ),
            ),
        )
        for link in as_objects(parse(text))
    )
