"""Where clients reach a host that serves alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inventory.facts.host import HostFacts, Interface, Network
from inventory.schema import Host
from launch.placing.addresses import public_address
from tests.unit.launch.gangs import NOT_ASKED, facts

HOST = Host(name="tray1", address="gateway.example")
FACTS = facts([HOST], [0])["tray1"]


def having(*interfaces: Interface) -> HostFacts:
    loopback = Interface("lo", "unknown", 65536, ("127.0.0.1",), None)
    return replace(FACTS, network=Network((loopback, *interfaces), (), (32768, 60999)))


OUTSIDE = Interface("eth0", "up", 1500, ("fe80::1", "192.0.2.7"), None)
BRIDGE = Interface("docker0", "up", 1500, ("172.17.0.1",), None)
DOWN = Interface("eth1", "down", 1500, ("198.51.100.1",), None)


@pytest.mark.parametrize(
    ("host", "interfaces", "address"),
    [
        (HOST, (BRIDGE, DOWN, OUTSIDE), "192.0.2.7"),
        (Host(name="tray1", address="203.0.113.5"), (OUTSIDE,), "192.0.2.7"),  # behind NAT: no interface holds it
        (
            Host(name="tray1", address="192.0.2.7"),
            (Interface("a", "up", 1500, ("10.0.0.1",), None), OUTSIDE),
            "192.0.2.7",
        ),
        (HOST, (BRIDGE,), "127.0.0.1"),
        (Host(name="local", transport="local"), (OUTSIDE,), "127.0.0.1"),
    ],
)
def test_it_is_an_address_that_the_host_has(host: Host, interfaces: tuple[Interface, ...], address: str) -> None:
    assert public_address(host, having(*interfaces)) == address


def test_an_unknown_network_is_asked_over_loopback() -> None:
    assert public_address(HOST, replace(FACTS, network=NOT_ASKED)) == "127.0.0.1"
