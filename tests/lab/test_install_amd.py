"""`invoke install --playbook amd` on a host whose GPUs nothing but the PCI bus tells of: the real apt and the real dnf.

Simulated: the GPUs, DKMS, the boot loaders, the packages (of AMD's names, versions and relations), and the restart.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from inventory.fleet import Fleet
from inventory.lab.state import Lab
from inventory.load import load
from playbooks.repositories.openpgp import read_key
from tests.lab.cli import Typed, invoke
from tests.lab.conftest import MakeLab, on
from tests.lab.packages import Package, make_repository
from tests.lab.rpms import Rpm, become_rhel, make_rpms, missing_tools
from tests.lab.vendor import SERVE, URL, Signer, make_suite, put_folder

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-install"), pytest.mark.timeout(360)]

DRIVER, BUILD = "1:7.1.3.31500000", "2390945"
# What stands in for DKMS: it "builds" where the headers are, and lists as DKMS 3 does.
DKMS = """#!/bin/sh
verb=$1; shift
while getopts m:v:k: option; do case $option in k) kernel=$OPTARG ;; *) ;; esac; done
case $verb in
status) grep -sF " $kernel," /srv/built || : ;;
autoinstall)
  [ -e /usr/share/made-by-a-test/"$(cat /srv/headers-of)$kernel" ] || { echo "no headers of $kernel" >&2; exit 1; }
  echo "amdgpu/7.1.3-2390945, $kernel, x86_64: installed" >>/srv/built ;;
esac
"""
UPDATE_GRUB = """#!/bin/sh
for file in /etc/default/grub.d/*.cfg; do . "$file"; done
mkdir -p /boot/grub; echo "linux /vmlinuz root=/dev/sda1 $GRUB_CMDLINE_LINUX" >/boot/grub/grub.cfg
"""
GRUBBY = """#!/bin/sh
case $1 in
--info=ALL) printf 'index=0\\nargs="%s"\\nindex=1\\nargs="%s"\\n' "$(cat /srv/args)" "$(cat /srv/args)" ;;
--update-kernel=ALL) echo "ro crashkernel=1G ${2#--args=}" >/srv/args ;;
esac
"""
UNAME = """#!/bin/sh
case $* in -r) echo KERNEL ;; -rm) echo KERNEL x86_64 ;; *) exec /usr/bin/uname "$@" ;; esac
"""
# A machine of its own: no hypervisor, no tool of the vendor's, no driver that the kernel tells of.
BARE = """
rm -rf /opt/bringup-lab/sysroot/sys/class/kfd
rm -rf /etc/apt/sources.list.d /var/lib/apt/lists; : >/etc/apt/sources.list
printf '#!/bin/sh\\n/usr/bin/lscpu "$@" | grep -v -i hypervisor\\n' >/usr/local/bin/lscpu
chmod 755 /usr/local/bin/lscpu
mkdir -p /boot /etc/default/grub.d; echo 'ro crashkernel=1G' >/srv/args
"""
# After a restart: the module is loaded in the version that was built, and its devices are there.
RESTARTED = """
(tr -d '\\n' </proc/cmdline; echo ' iommu=pt') >/run/cmdline && mount --bind /run/cmdline /proc/cmdline
mount -t tmpfs none /sys/module && mkdir /sys/module/amdgpu && echo 7.1.3.31500000 >/sys/module/amdgpu/version
mkdir -p /dev/dri && touch /dev/kfd /dev/dri/renderD128 && chown 0:7105 /dev/kfd /dev/dri/renderD128
"""


@dataclass(frozen=True, slots=True)
class Family:
    """How a family calls its kernels, its package of headers, and what it has of the driver."""

    name: str
    running: str
    following: str
    headers: str
    held: str
    argument: str


FAMILIES = (
    Family("debian", "6.1.0-41-amd64", "6.1.0-42-amd64", "linux-headers-", "apt-mark showhold", "/boot/grub/grub.cfg"),
    Family(
        "rhel",
        "5.14.0-570.el9.x86_64",
        "5.14.0-600.el9.x86_64",
        "kernel-devel-",
        "cat /etc/dnf/plugins/versionlock.list",
        "/srv/args",
    ),
)


def debs(folder: Path, signer: Signer, one: Family) -> None:
    version = f"{DRIVER}-{BUILD}.22.04"
    driver = [Package("amdgpu-dkms", version, ("Depends: dkms",)), Package("amdgpu-dkms-firmware", version)]
    make_repository(folder / "os", [Package(f"{one.headers}{each}", "1") for each in (one.running, one.following)])
    make_suite(folder / "amdgpu/31.50/ubuntu", "jammy", [*driver, Package("dkms", "3.1.1")], signer)
    make_suite(folder / "rocm/debian12", "stable", [Package("amdrocm-amdsmi10.0", "10.0.0-4")], signer)


def rpms(folder: Path, signer: Signer, one: Family) -> None:
    version = f"{DRIVER}-{BUILD}.el9"
    driver = [Rpm("amdgpu-dkms", version, ("Requires: dkms = 3.1.1",)), Rpm("amdgpu-dkms-firmware", version)]
    kernels = [each.removesuffix(".x86_64") for each in (one.running, one.following)]
    headers = [
        Rpm("kernel-devel", each, ("Provides: installonlypkg(kernel)",), mark=f"kernel-devel-{each}.x86_64")
        for each in kernels
    ]
    os_packages = [*headers, Rpm("python3-dnf-plugin-versionlock", "4.3.0-1"), Rpm("dkms", "3.2.2-1.el9")]
    make_rpms(folder / "os", os_packages)
    make_rpms(folder / "amdgpu/31.50/el/9.6/main/x86_64", [*driver, Rpm("dkms", "3.1.1-1.el9")])
    make_rpms(folder / "rocm/rhel9/x86_64", [Rpm("amdrocm-amdsmi10.0", "10.0.0-4")])
    for place in ("amdgpu/31.50/el/9.6/main/x86_64", "rocm/rhel9/x86_64"):
        signer.sign_rpms(folder / place)


def equip(lab: Lab, folder: Path, signer: Signer, one: Family) -> None:
    """The host as its vendor delivered it, with AMD's repositories within its reach."""
    (debs if one.name == "debian" else rpms)(folder, signer, one)
    done = on(lab, "tray1", BARE)
    assert done.returncode == 0, done.stderr
    if one.name == "rhel":
        become_rhel(lab, "tray1")
    with Fleet(load(lab.inventory).resolve("tray1")) as fleet:
        put_folder(fleet, folder, "/srv")
    programs = {"sbin/dkms": DKMS, "sbin/update-grub": UPDATE_GRUB, "sbin/grubby": GRUBBY}
    programs["local/bin/uname"] = UNAME.replace("KERNEL", one.running)
    script = "".join(
        f"printf '%s' {shlex.quote(text)} >/usr/{path}; chmod 755 /usr/{path}\n" for path, text in programs.items()
    )
    source = "echo 'deb [trusted=yes] file:/srv/os ./' >/etc/apt/sources.list"
    if one.name == "rhel":
        source = "printf '[os]\\nname=os\\nbaseurl=file:///srv/os\\ngpgcheck=0\\n' >/etc/yum.repos.d/os.repo"
    script += (
        f"printf %s {one.headers} >/srv/headers-of; touch /boot/vmlinuz-{one.running} /boot/vmlinuz-{one.following}\n"
    )
    done = on(lab, "tray1", f"{script}{source}\n(setsid sh -c {shlex.quote(SERVE)} &)\nsleep 1\n")
    assert done.returncode == 0, done.stderr
    key = folder / "key.asc"
    key.write_bytes(signer.key)
    (fingerprint,) = read_key(signer.key).fingerprints
    mirrors = "".join(
        f"    {name}: {{url: '{URL}/{name}', key: '{key}', fingerprint: '{fingerprint}'}}\n"
        for name in ("amdgpu", "rocm")
    )
    lab.inventory.write_text(lab.inventory.read_text().replace("defaults:\n", f"defaults:\n  mirrors:\n{mirrors}"))


@pytest.fixture(params=FAMILIES, ids=lambda one: one.name)
def host(request: pytest.FixtureRequest, make_lab: MakeLab, tmp_path: Path) -> Iterator[tuple[Lab, Family]]:
    if missing := missing_tools():
        pytest.skip(f"no real dnf on this machine: apt-get install {' '.join(missing)}")
    lab = make_lab(1, "mi355x")
    signer = Signer(tmp_path / "gnupg")
    try:
        equip(lab, tmp_path / "made", signer, request.param)
        yield lab, request.param
    finally:
        signer.close()


def install(lab: Lab, *words: str) -> Typed:
    return invoke("install", "--hosts", "tray1", "--playbook", "amd", *words, inventory=lab.inventory)


def test_a_bare_host_comes_to_a_driver_that_is_held_and_then_nothing_is_to_be_done(host: tuple[Lab, Family]) -> None:
    lab, one = host
    first = install(lab)
    assert first.code == 8, first
    assert "reboot-needed" in first.said, first
    assert "iommu=pt" in first.said, first
    built = on(lab, "tray1", "cat /srv/built").stdout
    assert [f" {kernel}," in built for kernel in (one.running, one.following)] == [True, True], built
    assert "amdgpu-dkms" in on(lab, "tray1", one.held).stdout
    assert "iommu=pt" in on(lab, "tray1", f"cat {one.argument}").stdout
    assert on(lab, "tray1", "readlink /usr/local/bin/amd-smi").stdout == "/opt/rocm/core-10.0/bin/amd-smi\n"
    done = on(lab, "tray1", RESTARTED)
    assert done.returncode == 0, done.stderr
    second = install(lab)
    assert second.code == 0, second
    assert "7105" in on(lab, "tray1", "id -G root").stdout.split(), "by the number that owns the devices"
    third = install(lab, "--dry-run")
    assert third.code == 0, third
