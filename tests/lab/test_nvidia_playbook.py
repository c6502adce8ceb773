"""The playbook `nvidia` typed as an operator would, on hosts without a driver: real apt, a signed repository with
packages of NVIDIA's names, versions and relations, real systemd. The kernel and what the packages do are simulated."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.fleet import Fleet
from inventory.lab import lifecycle
from inventory.lab.hardware import SYSROOT
from inventory.lab.lifecycle import Equipment
from inventory.lab.state import Lab
from inventory.load import load
from inventory.transport.base import Transport
from tests.lab import nvidia_packages
from tests.lab.cli import Typed, invoke
from tests.lab.conftest import on
from tests.lab.nvidia_packages import MODINFO, MODPROBE, NEW, OLD
from tests.lab.packages import Package, SigningKey, make_key, make_repository, sign

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-install"), pytest.mark.timeout(400)]
PORT = 8902
KERNEL = platform.release()
UBUNTU = 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04 (simulated)"\n'
SERVER = f"[Service]\nExecStart=/usr/bin/python3 -m http.server {PORT} --bind 127.0.0.1 -d /srv/repository\n"
INVENTORY = """\
  mirrors:
    cuda: {{url: "http://127.0.0.1:{port}", key: "{key}", fingerprint: "{fingerprint}"}}
"""
SWITCH = (
    f"mkdir -p {SYSROOT}/sys/bus/pci/devices/0000:05:00.0; cd {SYSROOT}/sys/bus/pci/devices/0000:05:00.0; "
    "echo 0x068000 >class; echo 0x10de >vendor; echo 0x22a3 >device; echo 0 >numa_node"
)
"""An NVSwitch on the bus, which the profile does not have."""
MakeHosts = Callable[..., Lab]


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    if not (shutil.which("gpg") and shutil.which("dpkg-deb") and Path("/lib/systemd/systemd").exists()):
        pytest.skip("no gpg, no dpkg or no systemd on this machine")
    return make_key(tmp_path_factory.mktemp("keys") / "one")


@pytest.fixture
def make_hosts(machine_carries_labs: None, key: SigningKey, tmp_path: Path) -> Iterator[MakeHosts]:  # noqa: ARG001
    made: list[str] = []

    def make(profile: str, packages: Sequence[Package], *, system: str, folder: str, hosts: int = 1) -> Lab:
        name = f"nvidia-{os.getpid()}-{len(made)}"
        lab = lifecycle.up(hosts, profile, name=name, equipment=Equipment(systemd=True))
        made.append(name)
        (tmp_path / "key.asc").write_text(key.public)
        text = lab.inventory.read_text()
        said = INVENTORY.format(port=PORT, key=tmp_path / "key.asc", fingerprint=key.fingerprint)
        lab.inventory.write_text(text.replace("hosts:\n", f"{said}hosts:\n", 1))
        make_repository(tmp_path / "repository", packages)
        sign(tmp_path / "repository", key)
        equip(lab, tmp_path / "repository", system, folder)
        return lab

    yield make
    for name in made:
        with suppress(BadInput):
            lifecycle.down(name)


def equip(lab: Lab, repository: Path, system: str, folder: str) -> None:
    """A system and a kernel as the test wants them, and the repository on a server of each host's own."""
    packed = subprocess.run(["tar", "-C", str(repository), "-c", "."], check=True, capture_output=True).stdout
    files = {"/srv/repository.tar": packed, "/etc/systemd/system/packages.service": SERVER.encode()}
    files |= {"/usr/local/sbin/modprobe": MODPROBE.encode(), "/usr/local/sbin/modinfo": MODINFO.encode()}
    files |= {"/usr/lib/os-release": system.encode()} if system else {}
    with Fleet(load(lab.inventory).resolve("all")) as fleet:
        fleet.each(lambda transport: _put(transport, files))
    for host in lab.hosts:
        done = on(
            lab,
            host.name,
            f"set -e; rm -rf /etc/apt/sources.list.d/* /var/lib/apt/lists; : >/etc/apt/sources.list; "
            f"apt-mark unhold $(apt-mark showhold) >/dev/null 2>&1 || :; "
            f"mkdir -p /srv/repository/{folder} /boot; tar -C /srv/repository/{folder} -xf /srv/repository.tar; "
            f": >/boot/vmlinuz-{KERNEL}; systemctl daemon-reload; systemctl start packages",
        )
        assert done.returncode == 0, done


def _put(transport: Transport, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        transport.put(data, path, mode=0o755 if data.startswith(b"#!") else 0o644)


def install(lab: Lab, *words: str, playbook: str = "nvidia") -> Typed:
    return invoke("install", "--hosts", "all", "--playbook", playbook, *words, inventory=lab.inventory)


def versions(lab: Lab, host: str = "tray1") -> dict[str, str]:
    said = on(lab, host, "dpkg-query -W -f '${Package} ${Version} ${db:Status-Want}\\n' '*nvidia*' nvlsm 2>/dev/null")
    lines = (line.split() for line in said.stdout.splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 3}


def test_a_bare_hgx_host_gets_one_exact_driver_with_its_fabric_manager(make_hosts: MakeHosts) -> None:
    packages = nvidia_packages.ubuntu(KERNEL)
    lab = make_hosts("broken-driver", packages, system=UBUNTU, folder="ubuntu2404/x86_64")
    on(lab, "tray1", f"modprobe nouveau; {SWITCH}")
    before = on(lab, "tray1", "dpkg-query -W | sha256sum; find /etc | sha256sum").stdout
    shown = install(lab, "--dry-run", "--diff", "--json")
    assert shown.code == 8, shown
    assert on(lab, "tray1", "dpkg-query -W | sha256sum; find /etc | sha256sum").stdout == before, "nothing was written"
    planned = {change["id"].partition("/")[2] for change in shown.data["plan"]["changes"]}
    assert {"repository", "driver-ubuntu", "fabric-manager", "nouveau", "restart"} <= planned
    assert not {"imex", "no-fabric-manager", "subnet-manager", "driver-debian", "too-old"} & planned

    first = install(lab)
    assert first.code == 8, first
    assert "module nouveau is loaded" in first.said
    assert "inactive" in on(lab, "tray1", "systemctl is-active nvidia-fabricmanager").stdout, "behind the restart"
    on(lab, "tray1", "rm -r /sys/module/nouveau")  # what a restart would do
    second = install(lab)
    assert second.code == 0, second
    assert "nothing to change" in install(lab).said

    there = versions(lab)
    assert there["nvidia-dkms-open"] == there["nvidia-fabricmanager"] == there["nvidia-firmware"] == f"{OLD}-1ubuntu1"
    assert {version for name, version in there.items() if name != "nvidia-container-toolkit"} == {f"{OLD}-1ubuntu1"}
    assert there["nvidia-container-toolkit"] == "1.18.0-1"
    running = on(lab, "tray1", "systemctl is-active nvidia-fabricmanager nvidia-persistenced").stdout.split()
    assert running == ["active", "active"]
    assert OLD in on(lab, "tray1", "cat /etc/cdi/nvidia.yaml").stdout
    _upgrades_leave_it_alone(lab)
    _drift_is_seen_and_made_good(lab)
    _another_version_is_one_command(lab)


def _upgrades_leave_it_alone(lab: Lab) -> None:
    upgrade = on(lab, "tray1", "apt-get -s dist-upgrade | grep ^Inst; apt-get -s install nvidia-modprobe | grep ^Inst")
    assert NEW not in upgrade.stdout
    held = on(lab, "tray1", "apt-mark showhold").stdout.split()
    assert {"nvidia-dkms-open", "libnvidia-compute", "nvidia-fabricmanager"} <= set(held)


def _drift_is_seen_and_made_good(lab: Lab) -> None:
    on(
        lab,
        "tray1",
        "apt-mark unhold nvidia-fabricmanager; systemctl stop nvidia-persistenced; rm /etc/cdi/nvidia.yaml",
    )
    planned = install(lab, "--dry-run", "--json")
    changes = {change["id"].partition("/")[2] for change in planned.data["plan"]["changes"]}
    assert {"fabric-manager", "persistence", "device-descriptions"} <= changes
    assert not {"driver-ubuntu", "repository", "headers"} & changes
    assert install(lab).code == 0
    assert install(lab, "--dry-run").code == 0


def _another_version_is_one_command(lab: Lab) -> None:
    """Up ends at the restart that the loaded module needs; back again is refused until it is asked for."""
    up = install(lab, "--value", f"driver={NEW}")
    assert up.code == 8, up
    assert f"module nvidia is loaded in version {OLD}, not {NEW}" in up.said
    assert versions(lab)["nvidia-fabricmanager"] == f"{NEW}-1ubuntu1"
    preferred = "cat /etc/apt/preferences.d/bringup-nvidia"
    before = on(lab, "tray1", preferred).stdout
    back = install(lab)
    assert back.code == 4, back
    assert "package-downgrade" in back.said
    assert on(lab, "tray1", preferred).stdout == before, "it is refused before anything is changed"
    assert install(lab, "--value", "downgrade=yes", "--stop-before", "reboot").code == 0
    assert set(versions(lab).values()) == {f"{OLD}-1ubuntu1", "1.18.0-1"}


def test_trays_of_a_rack_share_one_list_of_imex_and_have_no_fabric_manager(make_hosts: MakeHosts) -> None:
    packages = nvidia_packages.debian(KERNEL)
    lab = make_hosts("gb200", packages, system="", folder="debian12/sbsa", hosts=2)
    for host in lab.hosts:
        # The kernel shares its devices with this machine: the channel is as the driver would have made it.
        on(lab, host.name, "cd /dev && mkdir -p nvidia-caps-imex-channels && : >nvidia-caps-imex-channels/channel0")
    nodes = " ".join(host.fabric for host in lab.hosts)
    done = install(lab, "--value", f"imex_nodes={nodes}")
    assert done.code == 0, done
    lists = {on(lab, host.name, "cat /etc/nvidia-imex/nodes_config.cfg").stdout for host in lab.hosts}
    assert lists == {nodes.replace(" ", "\n") + "\n"}
    for host in lab.hosts:
        said = on(lab, host.name, "systemctl is-active nvidia-imex; systemctl is-enabled nvidia-fabricmanager").stdout
        assert said.split() == ["active", "masked"]
        there = versions(lab, host.name)
        assert there["nvidia-imex"] == there["nvidia-kernel-open-dkms"] == there["nvidia-modprobe"] == f"{OLD}-1"
        assert "nvidia-fabricmanager" not in there
    assert install(lab, "--value", f"imex_nodes={nodes}", "--dry-run").code == 0
    left_out = install(lab, "--dry-run")
    assert "nvidia/imex-nodes is left out" in left_out.said, "without a list, aloud"


def test_a_host_without_a_driver_gets_no_model_and_is_told_what_brings_one(make_hosts: MakeHosts) -> None:
    lab = make_hosts("broken-driver", (Package("x", "1"),), system=UBUNTU, folder="ubuntu2404/x86_64")
    words = ("install", "--hosts", "tray1", "--model", "deepseek-v4-pro", "--dry-run")
    refused = invoke(*words, inventory=lab.inventory)
    assert refused.code == 4, refused
    assert "driver-missing" in refused.said
    assert "invoke install --hosts tray1 --playbook nvidia" in refused.said
