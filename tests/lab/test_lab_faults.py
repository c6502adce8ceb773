"""Cables, power and freezes, seen from the other host and from here."""

from __future__ import annotations

import socket
import subprocess

import pytest

from inventory.errors import BadInput
from inventory.lab import faults, lifecycle
from inventory.lab.state import Lab
from tests.lab.conftest import MakeLab, on

pytestmark = pytest.mark.lab
REACH = "ssh -o BatchMode=yes -o ConnectTimeout=2 {} true"


@pytest.fixture(scope="module")
def lab(make_lab: MakeLab) -> Lab:
    return make_lab(3, "cpu")


def reaches(lab: Lab, host: str, target: str) -> bool:
    return on(lab, host, REACH.format(target)).returncode == 0


def carriers(lab: Lab, host: str) -> list[str]:
    return on(lab, host, "cat /sys/class/net/eth0/carrier /sys/class/net/fab0/carrier").stdout.split()


def test_a_fabric_cable_that_is_pulled(lab: Lab) -> None:
    faults.cut("tray1", only="fabric", lab=lab.name)
    assert carriers(lab, "tray1") == ["1", "0"]
    assert carriers(lab, "tray2") == ["1", "1"]
    assert reaches(lab, "tray2", "tray1")
    assert not reaches(lab, "tray2", "tray1-fabric")
    faults.heal("tray1", only="fabric", lab=lab.name)
    assert carriers(lab, "tray1") == ["1", "1"]
    assert any(reaches(lab, "tray2", "tray1-fabric") for _ in range(5)), "a healed cable carries again"


def test_both_cables(lab: Lab) -> None:
    faults.cut("tray1", lab=lab.name)
    assert not reaches(lab, "tray2", "tray1")
    assert on(lab, "tray1", "true").returncode == 255
    faults.heal("tray1", lab=lab.name)
    assert on(lab, "tray1", "true").returncode == 0


def test_power_off_says_nothing_and_power_on_keeps_the_disk(lab: Lab) -> None:
    script = "cat /proc/sys/kernel/random/boot_id /etc/machine-id"
    before = on(lab, "tray2", f"{script}; echo kept >/root/kept").stdout.split()
    with socket.create_connection((lab.hosts[1].control, 22), timeout=5) as connection:
        assert connection.recv(4) == b"SSH-"
        connection.recv(200)
        faults.power_off("tray2", lab=lab.name)
        connection.settimeout(1)
        with pytest.raises(TimeoutError):  # no FIN, no RST
            connection.recv(1)
    assert {one.name: on_ for one, on_ in lifecycle.labs()}[lab.name] == ("tray1", "tray3")

    faults.power_on("tray2", lab=lab.name)
    after = on(lab, "tray2", f"{script} /root/kept").stdout.split()
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert after[2] == "kept"
    assert reaches(lab, "tray1", "tray2-fabric")


def test_a_host_whose_first_process_died_boots_again(lab: Lab) -> None:
    on(lab, "tray3", "kill -TERM 1")
    deadline = 100
    while "tray3" in {one.name: on_ for one, on_ in lifecycle.labs()}[lab.name]:
        deadline -= 1
        assert deadline
        subprocess.run(["sleep", "0.05"], check=True)
    faults.power_on("tray3", lab=lab.name)
    assert on(lab, "tray3", "hostname").stdout == "tray3\n"


def test_a_frozen_host_answers_when_it_thaws(lab: Lab) -> None:
    faults.freeze("tray1", lab=lab.name)
    with socket.create_connection((lab.hosts[0].control, 22), timeout=5) as connection:  # the kernel still accepts
        connection.settimeout(1)
        with pytest.raises(TimeoutError):
            connection.recv(4)
        faults.thaw("tray1", lab=lab.name)
        connection.settimeout(10)
        assert connection.recv(4) == b"SSH-"


def test_a_frozen_host_can_lose_its_power(lab: Lab) -> None:
    faults.freeze("tray3", lab=lab.name)
    faults.power_off("tray3", lab=lab.name)
    faults.power_on("tray3", lab=lab.name)
    assert on(lab, "tray3", "hostname").stdout == "tray3\n"


def test_what_cannot_be_done_is_refused(lab: Lab) -> None:
    with pytest.raises(BadInput, match="no lab has a host named tray9"):
        faults.cut("tray9", lab=lab.name)
    with pytest.raises(BadInput, match="the host is on"):
        faults.power_on("tray1", lab=lab.name)
    with pytest.raises(BadInput, match="no network named water"):
        faults.cut("tray1", only="water", lab=lab.name)  # type: ignore[arg-type]
    faults.power_off("tray3", lab=lab.name)
    with pytest.raises(BadInput, match="the host is off") as refused:
        faults.cut("tray3", lab=lab.name)
    assert refused.value.next_command == "invoke lab.power-on tray3"
    assert "2 running hosts" in lifecycle.down(lab.name)


def test_a_host_name_in_two_labs_needs_the_labs_name(make_lab: MakeLab) -> None:
    one, two = make_lab(["twin"]), make_lab(["twin"])
    with pytest.raises(BadInput, match="in more than one lab") as refused:
        faults.cut("twin")
    assert f"twin of {one.name}" in refused.value.observed
    assert faults.shell("twin", ["exit", "3"], lab=two.name) == 3
