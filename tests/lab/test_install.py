"""`invoke install` on lab hosts, typed as an operator would: two operators, lost power, units, a restart."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.lab import faults, lifecycle
from inventory.lab.lifecycle import Equipment
from inventory.lab.state import Lab
from tests.lab.cli import Typed, invoke, typing, wait_for_line
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-install"), pytest.mark.timeout(300)]

SLOW = """\
about: three commands of two seconds each
steps:
  - {id: a, kind: command, why: w, run: [sh, -c, 'sleep 2; echo a >>/srv/log; : >/srv/a'], creates: /srv/a}
  - {id: b, kind: command, why: w, run: [sh, -c, 'sleep 2; echo b >>/srv/log; : >/srv/b'], creates: /srv/b}
  - {id: c, kind: file, why: w, path: /srv/c, content: "c\\n", phase: services}
"""
UNIT = """\
about: a service, its settings, and a restart that its kernel argument needs
steps:
  - {id: settings, kind: file, why: w, path: /etc/tiny.conf, content: "one\\n"}
  - id: unit
    kind: file
    why: w
    path: /etc/systemd/system/tiny.service
    content: |
      [Service]
      ExecStart=/bin/sleep infinity
      [Install]
      WantedBy=multi-user.target
  - {id: argument, kind: reboot, why: w, kernel_arguments: [tiny=1]}
  - id: runs
    kind: systemd_unit
    why: w
    follows: [unit, settings]
    unit: tiny.service
    enabled: true
    running: true
    restarted_after: [/etc/tiny.conf]
  - {id: other, kind: systemd_unit, why: w, unit: other.service, masked: true}
"""
HOSTS = ("tray1", "tray2")


@pytest.fixture
def lab(machine_carries_labs: None, request: pytest.FixtureRequest) -> Iterator[Lab]:  # noqa: ARG001  (asked first)
    name = f"install-{os.getpid()}"
    yield lifecycle.up(2, "cpu", name=name, equipment=Equipment())
    with suppress(BadInput):  # it never came up
        lifecycle.down(name)


def install(lab: Lab, book: Path, *words: str) -> Typed:
    return invoke("install", "--hosts", "tray1,tray2", "--playbook", str(book), *words, inventory=lab.inventory)


def written(tmp_path: Path, text: str) -> Path:
    book = tmp_path / "book.yaml"
    book.write_text(text)
    return book


def log(lab: Lab, host: str) -> list[str]:
    return on(lab, host, "cat /srv/log").stdout.split()


def test_two_operators_and_a_killed_one(lab: Lab, tmp_path: Path) -> None:
    book = written(tmp_path, SLOW)
    words = ("install", "--hosts", "tray1,tray2", "--playbook", str(book))
    with typing(*words, inventory=lab.inventory) as process:
        wait_for_line(process, "begun")
        second = install(lab, book)
        assert second.code == 7, second
        assert "install book" in second.said
        assert "since" in second.said
        process.kill()
    listed = invoke("jobs", "--hosts", "tray1,tray2", "--json", inventory=lab.inventory)
    assert {job["host"] for job in listed.data} == set(HOSTS)
    assert {job["why"] for job in listed.data} == {"install book"}
    again = install(lab, book)
    assert again.code == 0, again
    assert [log(lab, host) for host in HOSTS] == [["a", "b"]] * 2, "nothing was done twice"
    assert install(lab, book, "--dry-run").code == 0


def test_power_lost_in_the_middle_is_told_and_the_same_command_converges(lab: Lab, tmp_path: Path) -> None:
    book = written(tmp_path, SLOW)
    words = ("install", "--hosts", "tray1,tray2", "--playbook", str(book))
    with typing(*words, inventory=lab.inventory) as process:
        wait_for_line(process, "begun")
        faults.power_off("tray2", lab=lab.name)
        _, said = process.communicate(timeout=200)
    assert process.returncode == 3, said
    assert "tray2" in said
    assert not on(lab, "tray1", "ls /srv/c").stdout, "the phase behind it was not begun anywhere"
    faults.power_on("tray2", lab=lab.name)
    again = install(lab, book)
    assert again.code == 0, again
    assert on(lab, "tray2", "cat /srv/c").stdout == "c\n"
    assert log(lab, "tray1") == ["a", "b"]
    assert set(log(lab, "tray2")) == {"a", "b"}


def test_a_network_that_is_cut_stops_no_job(lab: Lab, tmp_path: Path) -> None:
    book = written(tmp_path, SLOW)
    words = ("install", "--hosts", "tray1", "--playbook", str(book))
    with typing(*words, inventory=lab.inventory) as process:
        wait_for_line(process, "begun")
        faults.cut("tray1", lab=lab.name)
        process.kill()
    time.sleep(5)
    faults.heal("tray1", lab=lab.name)
    assert log(lab, "tray1") == ["a", "b"], "it went on by itself"
    assert install(lab, book).code == 0
    assert log(lab, "tray1") == ["a", "b"]


def test_the_tuning_that_comes_along_can_be_planned_everywhere(lab: Lab) -> None:
    """Not applied: a lab host's kernel is this machine's."""
    planned = invoke("install", "--hosts", "tray1", "--dry-run", "--json", "--diff", inventory=lab.inventory)
    assert planned.code == 8, planned
    changes = {one["id"]: one for one in planned.data["plan"]["changes"]}
    assert changes["tuning/limits"]["satisfies"] == ["os.memlock", "os.nofile"]
    assert "tuning/systemd-limits" not in changes, "no systemd here"
    assert [one["step"] for one in planned.data["left_out"]["tray1"]] == ["tuning/reserved-ports"]
    limits = invoke("install", "--hosts", "tray1", "--dry-run", "--value", "hugepagse=1", inventory=lab.inventory)
    assert limits.code == 2, limits
    assert "did you mean hugepages" in limits.said


@pytest.mark.skipif(not Path("/lib/systemd/systemd").exists(), reason="no systemd is installed on this machine")
def test_units_on_a_real_systemd_and_a_restart_in_between(
    machine_carries_labs: None,  # noqa: ARG001  (asked first)
    tmp_path: Path,
) -> None:
    one = lifecycle.up(1, "cpu", name=f"install-units-{os.getpid()}", equipment=Equipment(systemd=True))
    try:
        _units_and_a_restart(one, written(tmp_path, UNIT))
    finally:
        lifecycle.down(one.name)


def _units_and_a_restart(lab: Lab, book: Path) -> None:
    words = ("install", "--hosts", "tray1", "--playbook", str(book))
    first = invoke(*words, inventory=lab.inventory)
    assert first.code == 8, first
    assert "reboot-needed" in first.said
    assert "inactive" in on(lab, "tray1", "systemctl is-active tiny").stdout, "nothing behind the restart was begun"
    _boots_with_the_argument(lab)
    with typing(*words, "--reboot", inventory=lab.inventory) as process:
        wait_for_line(process, "restarting")
        _restarted(lab)
        _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert "back after" in said
    assert on(lab, "tray1", "systemctl is-active tiny; systemctl is-enabled tiny other").stdout.split() == [
        *("active", "enabled", "masked")
    ]
    assert invoke(*words, "--dry-run", inventory=lab.inventory).code == 0
    _settings_are_read_again(lab, book, words)


def _boots_with_the_argument(lab: Lab) -> None:
    """From its next start on, before anybody can log in: the lab's hosts have this machine's kernel."""
    fake = "(cat /proc/cmdline; echo tiny=1) | tr '\\n' ' ' >/run/cmdline; mount --bind /run/cmdline /proc/cmdline"
    unit = f"""[Unit]
Before=lab-sshd.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c {shlex.quote(fake)}
[Install]
WantedBy=multi-user.target
"""
    path = "/etc/systemd/system/fake-argument.service"
    done = on(lab, "tray1", f"printf %s {shlex.quote(unit)} >{path}; systemctl enable fake-argument.service")
    assert done.returncode == 0, done.stderr


def _restarted(lab: Lab) -> None:
    """The lab does not start a host again by itself."""
    for _ in range(100):
        time.sleep(0.2)
        if "tray1" not in {one.name: up for one, up in lifecycle.labs()}[lab.name]:
            break
    else:
        faults.power_off("tray1", lab=lab.name)
    faults.power_on("tray1", lab=lab.name)


def _settings_are_read_again(lab: Lab, book: Path, words: tuple[str, ...]) -> None:
    """Another content of a file that the unit reads when it starts restarts it, once."""
    before = on(lab, "tray1", "systemctl show -p MainPID tiny").stdout
    time.sleep(1.1)  # systemd tells whole seconds
    book.write_text(book.read_text().replace("one\\n", "two\\n"))
    assert invoke(*words, inventory=lab.inventory).code == 0
    after = on(lab, "tray1", "systemctl show -p MainPID tiny").stdout
    assert after != before
    assert invoke(*words, "--dry-run", inventory=lab.inventory).code == 0


def test_a_login_that_is_not_root_uses_sudo(lab: Lab, tmp_path: Path) -> None:
    account = (
        "useradd -m -s /bin/sh -p '*' ops && mkdir -p /home/ops/.ssh && "
        "cp /root/.ssh/authorized_keys /home/ops/.ssh/ && chown -R ops /home/ops && "
        "echo 'ops ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ops && chmod 0440 /etc/sudoers.d/ops && "
        "chown ops /var/lib/bringup"
    )
    done = on(lab, "tray1", account)
    if done.returncode != 0:
        pytest.skip(f"no account with sudo here: {done.stderr}")
    lab.inventory.write_text(lab.inventory.read_text().replace("user: root", "user: ops"))
    entry = "- {id: a, kind: file, why: w, path: /root/secret/x, content: y, mode: '0600'}\n"
    book = written(tmp_path, f"about: x\nsteps:\n{entry}")
    words = ("install", "--hosts", "tray1", "--playbook", str(book), "--diff")
    first = invoke(*words, inventory=lab.inventory)
    assert first.code == 0, first
    assert on(lab, "tray1", "sudo -n stat -c '%U %a' /root/secret/x").stdout == "root 600\n"
    assert on(lab, "tray1", "stat -c %U /var/lib/bringup/jobs").stdout == "ops\n"
    second = invoke(*words, inventory=lab.inventory)
    assert second.code == 0, second
    assert "nothing to change" in second.said
