"""What a lab host is from inside: its own names, keys, files, limits, and nothing of this machine's private files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from inventory.lab import image, interpreters, lifecycle
from inventory.lab.lifecycle import Equipment
from inventory.lab.simulated import Weights
from inventory.lab.state import Lab
from tests.lab.conftest import MakeLab, on

pytestmark = pytest.mark.lab
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lab(make_lab: MakeLab) -> Lab:
    return make_lab(2, "cpu")


def test_openssh_from_here_and_from_host_to_host_by_both_networks(lab: Lab) -> None:
    for target in ("tray1", "tray1-fabric", lab.hosts[0].fabric):
        done = on(lab, "tray2", f"ssh -o BatchMode=yes {target} hostname")
        assert (done.stdout, done.stderr) == ("tray1\n", "")


def test_another_key_is_not_let_in(lab: Lab, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
    words = [
        "ssh", "-F", "none", "-i", str(tmp_path / "other"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
        "-o", f"UserKnownHostsFile={lab.folder / 'known_hosts'}", f"root@{lab.hosts[0].control}", "true",
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 255
    assert "Permission denied (publickey)" in done.stderr


def test_each_host_is_its_own(lab: Lab) -> None:
    questions = ("hostname", "cat /etc/machine-id", "cat /proc/sys/kernel/random/boot_id", "cat /etc/ssh/*_key.pub")
    for question in questions:
        answers = {on(lab, host.name, question).stdout for host in lab.hosts}
        assert len(answers) == 2, question
    assert Path("/proc/sys/kernel/random/boot_id").read_text() not in answers


def test_nothing_of_this_machines_private_files(lab: Lab) -> None:
    for path in (ROOT, Path.home() / ".gitconfig", lab.folder):
        assert on(lab, "tray1", f"ls -d {path}").returncode != 0, path
    assert on(lab, "tray1", "ls -A /home /opt /srv").stdout.split() == ["/home:", "/opt:", "bringup-lab", "/srv:"]
    usual = {*image.KEPT, *image.EMPTIED}
    assert set(on(lab, "tray1", "ls -A /").stdout.split()) <= usual


def test_the_callers_environment_does_not_reach_hosts(lab: Lab) -> None:
    told = on(lab, "tray1", "tr '\\0' '\\n' </proc/1/environ; env").stdout
    assert "PYTEST" not in told
    assert str(ROOT) not in told


def test_a_host_sees_its_own_processes_only(lab: Lab) -> None:
    shown = on(lab, "tray1", "ls -d /proc/[0-9]*").stdout.split()
    assert len(shown) < 12
    assert on(lab, "tray1", "cat /proc/1/comm").stdout == "sh\n"


def test_orphans_are_reaped(lab: Lab) -> None:
    script = "for n in 1 2 3; do (sleep 0.1 &); done; sleep 0.6; grep -l '^State:.Z' /proc/[0-9]*/status | wc -l"
    assert on(lab, "tray1", script).stdout == "0\n"


@pytest.mark.parametrize(
    "harm",
    [
        "date -s 2001-01-01",
        "sysctl -w vm.swappiness=7",
        "echo 7 >/proc/sys/vm/swappiness",
        "echo 1 >/sys/kernel/mm/transparent_hugepage/enabled",
        "mknod /root/disk b 1 0",
    ],
)
def test_a_host_cannot_change_this_machine(lab: Lab, harm: str) -> None:
    before = Path("/proc/sys/vm/swappiness").read_text()
    assert on(lab, "tray1", harm).returncode != 0
    assert Path("/proc/sys/vm/swappiness").read_text() == before


def test_settings_of_its_own_network_are_a_hosts_own(lab: Lab) -> None:
    before = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    done = on(lab, "tray1", "sysctl -w net.ipv4.ip_local_port_range='40000 50000'")
    assert done.returncode == 0, done.stderr
    assert Path("/proc/sys/net/ipv4/ip_local_port_range").read_text() == before
    assert on(lab, "tray2", "cat /proc/sys/net/ipv4/ip_local_port_range").stdout == before


def test_files_that_a_host_writes_are_its_own(lab: Lab) -> None:
    assert on(lab, "tray1", "echo mine >/etc/mine; rm /usr/bin/tac; mkdir -p /var/lib/bringup/envs/new").returncode == 0
    assert on(lab, "tray2", "ls /etc/mine").returncode != 0
    assert on(lab, "tray2", "echo x | tac").stdout == "x\n"
    assert not Path("/etc/mine").exists()
    assert Path("/usr/bin/tac").exists()


def test_no_way_out_of_the_lab(lab: Lab) -> None:
    assert on(lab, "tray1", "ip route show default").stdout == ""
    assert "Network is unreachable" in on(lab, "tray1", "ip route get 192.0.2.1").stderr


def test_a_default_route_leads_nowhere(make_lab: MakeLab) -> None:
    lab = make_lab(1, equipment=Equipment(default_route=True))
    assert on(lab, "tray1", "ip route show default").stdout.startswith("default via 198.")
    done = on(lab, "tray1", "timeout 5 bash -c '</dev/tcp/192.0.2.1/9'")
    assert "No route to host" in done.stderr or "unreachable" in done.stderr  # at once


def test_environments_and_weights_are_there_without_a_copy(make_lab: MakeLab, tmp_path: Path) -> None:
    environment = tmp_path / "envs/0123"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/hello").write_text("#!/bin/sh\necho hello\n")
    (environment / "bin/hello").chmod(0o755)
    copied = tmp_path / "small"
    copied.mkdir()
    (copied / "bringup-env.json").write_text("{}\n")
    weights = Weights("org/model", "0" * 40, {"model.safetensors": 900 * 10**9})
    equipment = Equipment(environments=tmp_path / "envs", copied_environments={"4567": copied}, weights=(weights,))
    lab = make_lab(1, "gb200", equipment=equipment)
    top = "/var/lib/bringup"
    assert on(lab, "tray1", f"{top}/envs/0123/bin/hello").stdout == "hello\n"
    assert on(lab, "tray1", f"touch {top}/envs/0123/x").returncode != 0
    assert on(lab, "tray1", f"mkdir {top}/envs/89ab && touch {top}/envs/4567/x && ls {top}/envs").stdout.split() == [
        "0123", "4567", "89ab",
    ]  # fmt: skip
    assert not (copied / "x").exists()
    size = on(lab, "tray1", f"stat -c %s {top}/weights/org--model/{'0' * 40}/model.safetensors").stdout
    assert int(size) == 900 * 10**9


def test_a_full_disk_fills_that_host_only(make_lab: MakeLab) -> None:
    lab = make_lab(2, equipment=Equipment(disk="8M"))
    done = on(lab, "tray1", "dd if=/dev/zero of=/root/big bs=1M count=20")
    assert "No space left on device" in done.stderr
    assert on(lab, "tray2", "echo x >/root/small && cat /root/small").stdout == "x\n"
    lifecycle.down(lab.name)


def test_bringups_python_runs_in_hosts(lab: Lab) -> None:
    """Of every environment the interpreter is there, wherever this machine keeps it."""
    python = interpreters.own()
    prefix = on(lab, "tray1", f"{python} -c 'import ssl, sys; print(sys.prefix)'").stdout.strip()
    assert prefix == str(python.parents[1])
