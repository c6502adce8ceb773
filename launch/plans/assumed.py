"""Hosts that do not exist, of one hardware profile: for plans of hardware that is still to be bought or booted. Pure.

Nothing of them is a fact. Addresses are of the range that RFC 5737 keeps for documentation; NUMA nodes, links and NICs
are unknown, because a profile does not tell them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.facts.base import NOT_ASKED
from inventory.facts.host import Gpu, Gpus, HostFacts, Interface, Network, Route
from inventory.schema import Host
from launch.choosing.hardware import CPU
from launch.memory.gpus import of_profile

if TYPE_CHECKING:
    from launch.catalogue.taxonomy import Profile

NETWORK, INTERFACE = "192.0.2", "IFACE"


def assumed(hardware: str, profile: Profile, nodes: int) -> tuple[tuple[Host, ...], dict[str, HostFacts]]:
    """`nodes` hosts called node1, node2, ... as the profile has them."""
    hosts = tuple(Host(name=f"node{at}", address=f"{NETWORK}.{at}") for at in range(1, nodes + 1))
    return hosts, {host.name: _facts(host, hosts, hardware, profile) for host in hosts}


def _facts(host: Host, hosts: tuple[Host, ...], hardware: str, profile: Profile) -> HostFacts:
    others = tuple(Route(one.address, INTERFACE, host.address) for one in hosts if one is not host)
    interface = Interface(INTERFACE, "unknown", 0, (host.address,), None)
    return HostFacts(
        host=host.name,
        system=NOT_ASKED,
        cpu=NOT_ASKED,
        numa=NOT_ASKED,
        memory=NOT_ASKED,
        file_systems=NOT_ASKED,
        network=Network((interface,), others, (0, 0)),
        listeners=NOT_ASKED,
        gpus=_gpus(hardware, profile),
        software=NOT_ASKED,
        deployments=NOT_ASKED,
        noise="",
        seconds=0.0,
    )


def _gpus(hardware: str, profile: Profile) -> Gpus:
    if hardware == CPU:
        return Gpus("none", None, None, (), simulated=False)
    size = of_profile(hardware, profile).bytes
    name = str(profile.display_name or hardware.upper())
    devices = tuple(Gpu(at, name, "", size, "", None, None, None, ()) for at in range(profile.gpus))
    return Gpus("amd" if profile.brand == "AMD" else "nvidia", None, None, devices, simulated=False)
