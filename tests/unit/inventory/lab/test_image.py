from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from inventory.lab import image
from inventory.lab.state import Lab, LabHost

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="device files and trusted attributes take root")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("BRINGUP_LAB_DIR", str(tmp_path / "labs"))
    hosts = (LabHost("tray1", 1, "198.18.0.11", "198.18.1.11"), LabHost("tray2", 2, "198.18.0.12", "198.18.1.12"))
    made = Lab("one", "gb200", True, "boot", ("198.18.0.0/24", "198.18.1.0/24"), "leg", hosts)  # noqa: FBT003
    made.of("tray1").mkdir(parents=True)
    for name in ("id_ed25519", "id_ed25519.pub", "known_hosts", "hosts/tray1/ssh_host_ed25519_key"):
        (made.folder / name).write_text(f"content of {name}\n")
    (made.of("tray1") / "ssh_host_ed25519_key.pub").write_text("public\n")
    return made


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    (tmp_path / "layer").mkdir()
    return tmp_path / "layer"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("/root/.pyenv/versions/3.11.7", True),
        ("/home/somebody/bringup", True),
        ("/opt/python", True),
        ("/srv", True),
        ("/var/lib/bringup/envs/x", True),
        ("/a-folder-of-this-machine/x", True),
        ("/usr", False),
        ("/usr/local/lib", False),
        ("/var/lib/dpkg", False),
        ("/etc/os-release", False),
    ],
)
def test_what_hosts_do_not_see(path: str, hidden: bool) -> None:  # noqa: FBT001
    assert image.hidden_by_image(Path(path)) is hidden


def test_files_have_their_modes_whatever_the_umask(layer: Path) -> None:
    before = os.umask(0o077)
    try:
        image.write(layer, "a/b/open", "x")
        image.write(layer, "a/secret", b"y", 0o600)
    finally:
        os.umask(before)
    assert (mode(layer / "a/b/open"), mode(layer / "a/secret"), mode(layer / "a/b")) == (0o644, 0o600, 0o755)


@as_root
def test_the_shared_layer_hides_what_is_private(lab: Lab, layer: Path) -> None:
    image.write_image(lab, layer, "PerSourcePenalties no\n")
    for name in ("root", "home", "opt", "var/lib/bringup", "etc/ssh"):
        assert os.getxattr(layer / name, "trusted.overlay.opaque") == b"y"
    assert (mode(layer / "root"), mode(layer / "tmp"), mode(layer / "etc")) == (0o700, 0o1777, 0o755)
    foreign = {entry.name for entry in os.scandir("/")} - image.KEPT - image.EMPTIED.keys()
    for name in foreign:
        found = (layer / name).lstat()
        assert stat.S_ISCHR(found.st_mode)
        assert found.st_rdev == 0


@as_root
def test_the_shared_layer_lets_only_the_labs_key_in(lab: Lab, layer: Path) -> None:
    image.write_image(lab, layer, "PerSourcePenalties no\n")
    assert (layer / "root/.ssh/authorized_keys").read_text() == "content of id_ed25519.pub\n"
    assert mode(layer / "root/.ssh/id_ed25519") == 0o600
    config = (layer / "etc/ssh/sshd_config").read_text()
    assert "PasswordAuthentication no\n" in config
    assert config.endswith("PerSourcePenalties no\n")
    assert (layer / "etc/shadow").read_text().startswith("root:*:")


@as_root
def test_hosts_know_each_other_by_both_addresses(lab: Lab, layer: Path) -> None:
    image.write_image(lab, layer, "")
    lines = (layer / "etc/hosts").read_text().splitlines()
    assert "198.18.0.12 tray2" in lines
    assert "198.18.1.12 tray2-fabric" in lines
    assert not [line for line in lines if line.startswith("127.0.1.1")]


@as_root
def test_a_checkout_in_a_folder_that_hosts_see_is_hidden(
    lab: Lab, layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "CHECKOUT", Path("/usr/share"))
    image.write_image(lab, layer, "")
    assert os.getxattr(layer / "usr/share", "trusted.overlay.opaque") == b"y"


def test_a_disk_is_the_hosts_own(lab: Lab, layer: Path) -> None:
    image.write_disk(lab, lab.hosts[0], layer, {"simulated": "true", "allowed": "0-3"})
    assert (layer / "etc/hostname").read_text() == "tray1\n"
    assert len((layer / "etc/machine-id").read_text().strip()) == 32
    assert mode(layer / "etc/ssh/ssh_host_ed25519_key") == 0o600
    told = (layer / "etc/bringup-lab").read_text()
    assert told == "lab=one\nhost=tray1\nprofile=gb200\nsimulated=true\nallowed=0-3\n"
