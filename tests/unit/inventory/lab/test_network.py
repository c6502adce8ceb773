from __future__ import annotations

from inventory.lab import network
from inventory.lab.state import Lab, LabHost

HOST = LabHost("tray1", 1, "198.18.0.11", "198.18.1.11")
LAB = Lab("one", "cpu", False, "boot", ("198.18.0.0/24", "198.18.1.0/24"), "leg", (HOST,))  # noqa: FBT003


def test_a_host_gives_itself_its_addresses_and_no_way_out() -> None:
    lines = network.host_commands(LAB, HOST, default_route=False).splitlines()
    assert "addr add 198.18.0.11/24 dev eth0" in lines
    assert "addr add 198.18.1.11/24 dev fab0" in lines
    assert not [line for line in lines if "default" in line]


def test_a_default_route_is_asked_for() -> None:
    lines = network.host_commands(LAB, HOST, default_route=True).splitlines()
    assert lines[-1] == "route add default via 198.18.0.254"
    assert lines.index("link set eth0 up") < len(lines) - 1


def test_an_adapter_keeps_its_hardware_address() -> None:
    assert network.hardware_address(HOST, "control") == "02:00:c6:12:00:0b"
    assert network.hardware_address(HOST, "fabric") == "02:00:c6:12:01:0b"


def test_names_of_cables_fit_for_every_host() -> None:
    last = LabHost("tray200", 200, "198.18.0.210", "198.18.1.210")
    assert [network.cable(last, name) for name in network.NETWORKS] == ["c200", "f200"]
