"""What a machine needs to carry a lab. Asked before anything is made."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from inventory.errors import CheckFailed, raise_all
from inventory.lab import cgroups
from inventory.lab.process import CLEAN_ENVIRONMENT, told

PACKAGES = {  # program: Debian package
    "ip": "iproute2",
    "mount": "mount",
    "nsenter": "util-linux",
    "pivot_root": "util-linux",
    "setpriv": "util-linux",
    "setsid": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "umount": "mount",
    "unshare": "util-linux",
}


def check(*, systemd: bool = False) -> None:
    """Raise `CheckFailed` with everything that is missing: root, programs, namespaces; for hosts with systemd, that."""
    raise_all([error for error in (_root(), _programs(), _systemd() if systemd else None) if error])
    if error := _namespaces():
        raise error


def _root() -> CheckFailed | None:
    if os.geteuid() == 0:
        return None
    return CheckFailed(
        "the lab makes network namespaces and mounts, which takes root",
        id="lab-prerequisites",
        observed=f"user id {os.geteuid()}",
        required="user id 0",
        next_command="sudo $(command -v invoke) lab.up --hosts 2 --profile gb200",
    )


def _programs() -> CheckFailed | None:
    missing = [name for name in PACKAGES if not shutil.which(name, path=CLEAN_ENVIRONMENT["PATH"])]
    if not missing:
        return None
    packages = sorted({PACKAGES[name] for name in missing})
    return CheckFailed(
        "programs that the lab runs are missing",
        id="lab-prerequisites",
        observed=f"not found: {', '.join(missing)}",
        required="in /usr/sbin, /usr/bin, /sbin or /bin",
        next_command=f"apt-get install -y {' '.join(packages)}",
    )


def _systemd() -> CheckFailed | None:
    if Path("/lib/systemd/systemd").exists() and cgroups.mount() is not None:
        return None
    return CheckFailed(
        "this machine has no systemd for lab hosts, or no control groups for it",
        id="lab-prerequisites",
        observed="/lib/systemd/systemd or a writable mount of cgroup2 is missing",
        required="both",
        next_command="apt-get install -y systemd",
    )


def _namespaces() -> CheckFailed | None:
    """Try the rarest things that boot.sh does, in namespaces that vanish with the trial."""
    trial = "mount -t proc proc /proc && mount -t tmpfs tmpfs /mnt && mkdir /mnt/u /mnt/w /mnt/r && "
    trial += "mount -t overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w,index=off lab /mnt/r && "
    trial += "ip link add one type bridge && ip link add two type veth peer name three"
    flags = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--fork", "--kill-child"]
    done = subprocess.run(
        ["unshare", *flags, "sh", "-c", trial],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=20,
        check=False,
        stdin=subprocess.DEVNULL,
        env=CLEAN_ENVIRONMENT,
    )
    if done.returncode == 0:
        return None
    return CheckFailed(
        "this machine's kernel (or the container around it) does not let a lab be made",
        id="lab-prerequisites",
        observed=told(done.stderr) or f"the trial ended with {done.returncode}",
        required="namespaces, overlay, bridge and veth: a machine, a virtual machine or a privileged container",
        next_command="docker run --privileged ...  # if this is a container",
    )


def sshd_options() -> str:
    """What this machine's sshd must be told and older ones do not know.

    From 9.8 on, sshd shuts out addresses that failed to log in a few times: a lab is where that is tried.
    """
    said = subprocess.run(
        ["sshd", "-V"], capture_output=True, text=True, timeout=20, check=False, env=CLEAN_ENVIRONMENT
    )
    version = re.search(r"OpenSSH_(\d+)\.(\d+)", said.stderr + said.stdout)
    knows = version is not None and (int(version[1]), int(version[2])) >= (9, 8)
    return "PerSourcePenalties no\n" if knows else ""
