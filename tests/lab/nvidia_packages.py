"""NVIDIA's packages by name, version and relation, without what is in them: a kernel module, libraries, daemons.

Names and relations are those of NVIDIA's repository from branch 590 on; what a package does here is SIMULATED: DKMS
notes what it would build, the tool writes what it would describe, daemons sleep. Two versions of the driver are there,
so that an exact one has to be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.lab.packages import Package

OLD, NEW = "595.71.05", "610.57.04"
UBUNTU, DEBIAN = "1ubuntu1", "1"

DKMS = """\
#!/bin/sh
# SIMULATED: notes which module would have been built for which kernel.
while [ $# -gt 0 ]; do
  case $1 in status | autoinstall) verb=$1 ;; -k) shift; kernel=$1 ;; -m | -v) shift ;; esac
  shift
done
version=$(cat /usr/src/nvidia-version)
case $verb in
status) if [ -e "/var/lib/dkms/$version/$kernel" ]; then echo "nvidia/$version, $kernel, x86_64: installed"; fi ;;
autoinstall) mkdir -p "/var/lib/dkms/$version"; : >"/var/lib/dkms/$version/$kernel" ;;
esac
"""
CTK = """\
#!/bin/sh
# SIMULATED: describes what a driver would have.
for word; do case $word in --output=*) file=${word#--output=} ;; esac; done
mkdir -p "${file%/*}"
echo "libcuda.so.$(cat /sys/module/nvidia/version)" >"$file"
"""
MODPROBE = """\
#!/bin/sh
# SIMULATED kernel: modules are folders of a tmpfs over /sys/module.
if ! mountpoint -q /sys/module; then mount -t tmpfs none /sys/module; fi
for name; do :; done
name=$(printf '%s' "$name" | tr - _)
if [ "$1" = -r ]; then exec rm -rf "/sys/module/$name"; fi
mkdir -p "/sys/module/$name"
case $name in nvidia*) cp /usr/src/nvidia-version "/sys/module/$name/version" ;; esac
"""
MODINFO = """\
#!/bin/sh
# SIMULATED kernel: it has a module of NVIDIA when one was built for it.
case $1 in nvidia*) [ -e "/var/lib/dkms/$(cat /usr/src/nvidia-version)/$(uname -r)" ] ;; esac
"""
UNIT = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


def ubuntu(kernel: str) -> tuple[Package, ...]:
    """What a host with Ubuntu finds, and the headers of its kernel."""
    return (*_common(kernel, UBUNTU), *(one for version in (OLD, NEW) for one in _ubuntu(version)))


def debian(kernel: str) -> tuple[Package, ...]:
    return (*_common(kernel, DEBIAN), *(one for version in (OLD, NEW) for one in _debian(version)))


def _common(kernel: str, revision: str) -> Iterator[Package]:
    yield Package(f"linux-headers-{kernel}", "6.8.0-1", files=((f"/lib/modules/{kernel}/build/Makefile", "\n"),))
    yield Package("dkms", "3.0.11-1", files=(("/usr/sbin/dkms", DKMS),))
    yield Package("nvidia-container-toolkit", "1.18.0-1", files=(("/usr/bin/nvidia-ctk", CTK),))
    yield Package("nvidia-container-toolkit", "1.17.8-1", files=(("/usr/bin/nvidia-ctk", CTK),))
    yield Package("nvlsm", "2025.10.11-1")
    for driver in (OLD, NEW):
        version = f"{driver}-{revision}"
        same = f"Depends: nvidia-kernel-common (= {version})"
        yield Package("nvidia-kernel-common", version)
        yield Package("nvidia-modprobe", version)
        yield Package("nvidia-firmware", version)
        yield Package("nvidia-persistenced", version, files=_unit("nvidia-persistenced"))
        yield Package("nvidia-fabricmanager", version, (same,), files=_unit("nvidia-fabricmanager"))
        # As in NVIDIA's: at least a version, and what it pulls in would be the newest.
        at_least = f"Depends: nvidia-modprobe (>= {driver})"
        yield Package("nvidia-imex", version, (at_least,), files=_unit("nvidia-imex"))
        yield Package("libnvidia-nscq", version)


def _unit(name: str) -> tuple[tuple[str, str], ...]:
    return ((f"/lib/systemd/system/{name}.service", UNIT),)


def _source(driver: str) -> tuple[tuple[str, str], ...]:
    return (("/usr/src/nvidia-version", f"{driver}\n"),)


BUILD = 'dkms autoinstall -k "$(uname -r)"'


def _ubuntu(driver: str) -> Iterator[Package]:
    version = f"{driver}-{UBUNTU}"
    needs = f"Depends: dkms, nvidia-kernel-common (= {version}), nvidia-firmware (>= {driver})"
    other = "Provides: nvidia-dkms-kernel", "Conflicts: nvidia-dkms-kernel", "Replaces: nvidia-dkms-kernel"
    yield Package("nvidia-dkms-open", version, (needs, *other), BUILD, _source(driver))
    yield Package("nvidia-dkms", version, (needs, *other), BUILD, _source(driver))
    yield Package("libnvidia-compute", version, (f"Depends: nvidia-firmware (>= {driver})",))


def _debian(driver: str) -> Iterator[Package]:
    version = f"{driver}-{DEBIAN}"
    needs = f"Depends: dkms, nvidia-kernel-common (= {version}), nvidia-firmware (>= {driver})"
    yield Package("nvidia-kernel-open-dkms", version, (needs, "Conflicts: nvidia-kernel-dkms"), BUILD, _source(driver))
    yield Package("nvidia-kernel-dkms", version, (needs, "Conflicts: nvidia-kernel-open-dkms"), BUILD, _source(driver))
    yield Package("nvidia-driver-cuda", version, (f"Depends: nvidia-persistenced (>= {driver})",))
