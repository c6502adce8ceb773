"""Interfaces, routes, RDMA devices, who listens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interface:
    name: str
    state: str  # up, down, unknown
    mtu: int
    addresses: tuple[str, ...]  # without prefix length; loopback included on lo only
    speed_mbit: int | None


@dataclass(frozen=True, slots=True)
class Route:
    """How this host reaches `to`: the interface and source address the kernel would use (`ip route get`)."""

    to: str
    interface: str
    source: str


@dataclass(frozen=True, slots=True)
class Network:
    interfaces: tuple[Interface, ...]
    routes: tuple[Route, ...]  # to every address that was asked for
    ephemeral_ports: tuple[int, int]  # net.ipv4.ip_local_port_range, inclusive
    reserved_ports: tuple[tuple[int, int], ...] = ()  # ranges that the kernel hands to nobody


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a name leads to here; none: nothing."""

    name: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """`own`: what the host's own name leads to here. `hosts_lines`: lines of /etc/hosts that have that name."""

    own: tuple[str, ...]
    others: tuple[Resolved, ...] = ()  # of the other hosts that were asked for by name
    hosts_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gid:
    """An address of a port. RoCE has several, and NCCL must be given the index of a routable one of type v2."""

    index: int
    value: str  # as the kernel prints it: eight groups of four digits
    type: str  # "IB", "RoCE v1", "RoCE v2"; empty: not told


@dataclass(frozen=True, slots=True)
class RdmaPort:
    """Texts as their source prints them. Its kind is `link_layer`: Ethernet ports have an InfiniBand transport too."""

    number: int
    state: str = ""
    physical_state: str = ""
    rate: str = ""
    link_layer: str = ""
    gids: tuple[Gid, ...] = ()  # the first sixteen, without those that are zero

    @property
    def is_active(self) -> bool:
        return "ACTIVE" in self.state.upper()

    @property
    def gigabits(self) -> float | None:
        digits = self.rate.partition(" ")[0]
        return float(digits) if digits.replace(".", "", 1).isdecimal() else None


@dataclass(frozen=True, slots=True)
class RdmaDevice:
    """`card` is the system image GUID: two devices with one are two ports of one card."""

    name: str
    type: str = ""
    firmware: str = ""
    board: str = ""
    card: str = ""
    numa_node: int | None = None
    netdevs: tuple[str, ...] = ()
    ports: tuple[RdmaPort, ...] = ()
    driver: str = ""  # kernel module: mlx5_core, bnxt_re, ...


@dataclass(frozen=True, slots=True)
class Listener:
    address: str  # as the kernel shows it: 0.0.0.0, ::, 127.0.0.1, ...
    port: int
    process: str | None  # name and pid if the kernel tells us
