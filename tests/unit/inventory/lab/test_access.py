from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from inventory import sshconfig
from inventory.lab import access
from inventory.lab.state import Lab, LabHost
from inventory.load import load
from inventory.schema import Host


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("BRINGUP_LAB_DIR", str(tmp_path))
    hosts = (LabHost("tray1", 1, "198.18.0.11", "198.18.1.11"), LabHost("tray2", 2, "198.18.0.12", "198.18.1.12"))
    made = Lab("one", "gb200", True, "boot", ("198.18.0.0/24", "198.18.1.0/24"), "leg", hosts)  # noqa: FBT003
    for host in hosts:
        made.of(host.name).mkdir(parents=True)
    access.make_keys(made)
    access.write_access(made)
    return made


def test_the_inventory_is_one_that_bringup_reads(lab: Lab) -> None:
    told = load(lab.inventory).hosts
    assert list(told) == ["tray1", "tray2"]
    host = told["tray2"]
    assert (host.address, host.fabric_address, host.fabric_interface) == ("198.18.0.12", "198.18.1.12", "fab0")
    assert (host.user, host.ssh_config) == ("root", str(lab.ssh_config))


@pytest.mark.parametrize("kind", ["simulated hardware (gb200)", "Gone with `invoke lab.down`"])
def test_the_inventory_says_what_it_is(lab: Lab, kind: str) -> None:
    assert kind in lab.inventory.read_text()


@pytest.mark.parametrize("address", ["198.18.0.12", "tray2"])
def test_ssh_finds_key_and_host_keys_by_name_and_address(lab: Lab, address: str) -> None:
    options = sshconfig.effective(Host(name="tray2", address=address, ssh_config=str(lab.ssh_config)))
    assert (options.hostname, options.user, options.port) == ("198.18.0.12", "root", 22)
    assert options.identity_files == (str(lab.folder / "id_ed25519"),)
    assert options.user_known_hosts_files == (str(lab.folder / "known_hosts"),)
    assert options.strict_host_key_checking == "true"
    assert options.needs_openssh == ()


def test_each_host_has_its_own_key_and_it_is_known(lab: Lab) -> None:
    known = (lab.folder / "known_hosts").read_text().splitlines()
    assert len({line.split()[2] for line in known}) == 2
    for name in ("tray1", "tray1-fabric", "198.18.0.11", "198.18.1.11"):
        found = subprocess.run(
            ["ssh-keygen", "-F", name, "-f", lab.folder / "known_hosts"], capture_output=True, text=True, check=True
        )
        own = (lab.of("tray1") / "ssh_host_ed25519_key.pub").read_text().split()[1]
        assert own in found.stdout


def test_keys_are_readable_by_their_owner_only(lab: Lab) -> None:
    for key in (lab.folder / "id_ed25519", lab.of("tray1") / "ssh_host_ed25519_key"):
        assert key.stat().st_mode & 0o077 == 0
