"""The wires: two bridges in a namespace of their own, two cables for each host, one leg for this machine.

Cables end in the switch as `c<number>` (control) and `f<number>` (fabric), in the host as `eth0` and `fab0`.
Pulling a cable is taking its end in the switch down: the host loses its carrier.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Literal, TypeAlias

from inventory.errors import ChangeFailed
from inventory.lab.addresses import GATEWAY, MACHINE, address
from inventory.lab.process import run
from inventory.lab.state import Lab, LabHost

Network: TypeAlias = Literal["control", "fabric"]
NETWORKS: tuple[Network, ...] = ("control", "fabric")
INTERFACES: dict[Network, str] = {"control": "eth0", "fabric": "fab0"}


def cable(host: LabHost, network: Network) -> str:
    return f"{network[0]}{host.number}"


def hardware_address(host: LabHost, network: Network) -> str:
    """The same at every boot, as of a real adapter: neighbours remember it."""
    address = IPv4Address(host.control if network == "control" else host.fabric)
    return ":".join(f"{octet:02x}" for octet in (2, 0, *address.packed))


def make_switch(lab: Lab) -> None:
    """Make the bridges' namespace and this machine's leg into the control network."""
    lab.switch.touch()
    run(["unshare", f"--net={lab.switch}", "true"])
    control, _ = lab.networks
    commands = [f"link add {network} type bridge forward_delay 0" for network in NETWORKS]
    commands += [f"link set {network} up" for network in NETWORKS]
    # A gateway that knows no way: a default route by it leads to a quick "unreachable", not out of the lab.
    commands.append(f"addr add {address(control, GATEWAY)}/24 dev control")
    commands.append("route add unreachable default")
    _in_switch(lab, commands)
    run([*_nsenter(lab), "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"])
    _ip(
        [
            f"link add {lab.leg} type veth peer name leg netns {lab.switch}",
            f"link set {lab.leg} addrgenmode none",
            f"addr add {address(control, MACHINE)}/24 dev {lab.leg}",
            f"link set {lab.leg} up",
        ]
    )
    _in_switch(lab, ["link set leg master control up"])


def plug_in(lab: Lab, hosts: Iterable[tuple[LabHost, int]]) -> None:
    """Lay both cables of each host; the number is the host's PID 1 as this machine counts."""
    commands = []
    for host, pid in hosts:
        for network in NETWORKS:
            end = cable(host, network)
            peer = f"name {INTERFACES[network]} address {hardware_address(host, network)} netns {pid}"
            commands.append(f"link add {end} type veth peer {peer}")
            commands.append(f"link set {end} master {network} up")
    _in_switch(lab, commands)


def unplug(lab: Lab, host: LabHost) -> None:
    """Remove what is left of the cables of a host that is off, so that they can be laid again.

    The kernel removes them too, some time after the host's last process: an end that vanishes here is as good.
    """
    for end in (cable(host, network) for network in NETWORKS):
        try:
            _in_switch(lab, [f"link del {end}"])
        except ChangeFailed:
            if f" {end}@" in run([*_nsenter(lab), "ip", "-oneline", "link", "show"]):
                raise


def set_carrier(lab: Lab, host: LabHost, networks: Iterable[Network], *, up: bool) -> None:
    state = "up" if up else "down"
    _in_switch(lab, [f"link set {cable(host, network)} {state}" for network in networks])


def remove_leg(lab: Lab) -> list[str]:
    """Remove this machine's leg; the bridges and the cables end with their namespace's mount."""
    if not Path(f"/sys/class/net/{lab.leg}").exists():
        return []
    _ip([f"link del {lab.leg}"])
    return [f"interface {lab.leg}"]


def host_commands(lab: Lab, host: LabHost, *, default_route: bool) -> str:
    """What the host says to `ip -batch` when its cables are in."""
    control, _ = lab.networks
    lines = [
        "link set lo up",
        f"addr add {host.control}/24 dev eth0",
        f"addr add {host.fabric}/24 dev fab0",
        "link set eth0 up",
        "link set fab0 up",
    ]
    if default_route:
        lines.append(f"route add default via {address(control, GATEWAY)}")
    return "".join(f"{line}\n" for line in lines)


def _nsenter(lab: Lab) -> list[str]:
    return ["nsenter", f"--net={lab.switch}"]


def _in_switch(lab: Lab, commands: list[str]) -> None:
    run([*_nsenter(lab), "ip", "-batch", "-"], stdin="".join(f"{line}\n" for line in commands))


def _ip(commands: list[str]) -> None:
    run(["ip", "-batch", "-"], stdin="".join(f"{line}\n" for line in commands))
