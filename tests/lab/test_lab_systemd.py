"""Hosts whose first process is systemd: units start, restart, stop and come back as on a server."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from inventory.errors import BringupError
from inventory.lab import cgroups, faults, lifecycle, prerequisites
from inventory.lab.lifecycle import Equipment
from inventory.lab.state import Lab
from tests.lab.conftest import MakeLab, on

pytestmark = pytest.mark.lab
UNIT = """\
[Service]
ExecStart=/bin/sh -c 'sleep 1111 & exec sleep 2222'
Restart=on-failure
RestartSec=100ms
KillMode=mixed
[Install]
WantedBy=multi-user.target
"""


@pytest.fixture(scope="module")
def lab(make_lab: MakeLab) -> Lab:
    try:
        prerequisites.check(systemd=True)
    except BringupError as error:
        pytest.skip(f"no systemd hosts on this machine: {error}")
    made = make_lab(1, "cpu", equipment=Equipment(systemd=True))
    done = on(made, "tray1", f"cat >/etc/systemd/system/work.service <<'EOF'\n{UNIT}EOF\nsystemctl enable --now work")
    assert done.returncode == 0, done.stderr
    return made


def main_pid(lab: Lab) -> int:
    return int(on(lab, "tray1", "systemctl show work -p MainPID --value").stdout)


def sleepers(lab: Lab) -> int:
    return int(on(lab, "tray1", "pgrep -x -c sleep").stdout)


def test_the_system_is_up_with_no_failed_unit(lab: Lab) -> None:
    assert on(lab, "tray1", "systemctl is-system-running --wait").stdout == "running\n"
    assert on(lab, "tray1", "systemctl list-unit-files --state=enabled --no-legend 'ssh*' 'postgres*'").stdout == ""


def test_each_unit_has_its_control_group_and_no_host_sees_this_machines(lab: Lab) -> None:
    group = on(lab, "tray1", f"grep ^0:: /proc/{main_pid(lab)}/cgroup").stdout.strip()
    assert group == "0::/system.slice/work.service"
    assert cgroups.of(lab, lab.hosts[0]).is_dir()


def test_a_unit_that_dies_is_restarted(lab: Lab) -> None:
    before = main_pid(lab)
    on(lab, "tray1", f"kill -9 {before}")
    deadline = time.monotonic() + 20
    while main_pid(lab) in {0, before}:
        assert time.monotonic() < deadline
    assert sleepers(lab) == 2


def test_an_enabled_unit_is_back_after_a_power_cut(lab: Lab) -> None:
    boot = on(lab, "tray1", "cat /proc/sys/kernel/random/boot_id").stdout
    faults.power_off("tray1", lab=lab.name)
    faults.power_on("tray1", lab=lab.name)
    assert on(lab, "tray1", "systemctl is-system-running --wait").stdout == "running\n"
    assert on(lab, "tray1", "systemctl is-active work").stdout == "active\n"
    assert on(lab, "tray1", "cat /proc/sys/kernel/random/boot_id").stdout != boot


def test_reboot_ends_a_host_until_power_comes_on(lab: Lab) -> None:
    on(lab, "tray1", "systemctl reboot")
    deadline = time.monotonic() + 20
    while {one.name: names for one, names in lifecycle.labs()}[lab.name]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    faults.power_on("tray1", lab=lab.name)
    assert on(lab, "tray1", "systemctl is-active work").returncode in {0, 3}  # it answers


def test_stop_leaves_no_process(lab: Lab) -> None:
    on(lab, "tray1", "systemctl start work")
    assert sleepers(lab) == 2
    assert on(lab, "tray1", "systemctl disable --now work").returncode == 0
    assert sleepers(lab) == 0


def test_down_leaves_no_control_group(lab: Lab) -> None:
    group = cgroups.of(lab, lab.hosts[0]).parent
    assert group.is_dir()
    assert "control groups" in lifecycle.down(lab.name)
    assert not group.exists()
    assert not Path("/run/bringup-lab", lab.name).exists()
