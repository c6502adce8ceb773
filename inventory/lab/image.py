"""The files of lab hosts: a layer that all of them share, over this machine's root, and each host's own disk.

The shared layer hides what is private to this machine (home folders, /root, /opt, the checkout, whatever lies in / that
a distribution does not put there) and holds what is the same on all hosts. Both are overlay layers: a character
device 0:0 hides a file, the attribute trusted.overlay.opaque a folder's content.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from inventory.lab.state import Lab, LabHost

KEPT = frozenset({"bin", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr", "var"})
EMPTIED: Mapping[str, int] = {  # folder: mode
    "boot": 0o755, "dev": 0o755, "home": 0o755, "media": 0o755, "mnt": 0o755, "opt": 0o755, "proc": 0o555,
    "root": 0o700, "run": 0o755, "srv": 0o755, "sys": 0o555, "tmp": 0o1777,
    "etc/ssh": 0o755, "var/lib/bringup": 0o755, "var/log": 0o755, "var/tmp": 0o1777,
}  # fmt: skip
PROGRAMS = Path(__file__).parent
CHECKOUT = Path(__file__).resolve().parents[2]

SSHD_CONFIG = """\
Port 22
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
AuthorizedKeysFile .ssh/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
MaxStartups 100:30:200
MaxSessions 100
PidFile none
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
"""


def write_image(lab: Lab, layer: Path, sshd_options: str) -> None:
    """Write the layer that all hosts share. The keys are those of the lab's folder."""
    for name, mode in EMPTIED.items():
        empty_folder(layer, name, mode)
    for name in _foreign(Path("/")):
        _white_out(layer / name)
    _hide(layer, CHECKOUT)
    write(layer, "etc/hosts", _etc_hosts(lab))
    write(layer, "etc/resolv.conf", "# lab hosts have no name server\n")
    write(layer, "etc/shadow", "root:*:19000:0:99999:7:::\n", 0o600)  # no password, and not locked for sshd
    write(layer, "etc/ssh/sshd_config", SSHD_CONFIG + sshd_options)
    write(layer, "etc/ssh/ssh_known_hosts", (lab.folder / "known_hosts").read_text())
    write(layer, "opt/bringup-lab/init.sh", (PROGRAMS / "init.sh").read_text())
    write(layer, "root/.ssh/authorized_keys", (lab.folder / "id_ed25519.pub").read_text(), 0o600)
    write(layer, "root/.ssh/id_ed25519", (lab.folder / "id_ed25519").read_text(), 0o600)


def write_disk(lab: Lab, host: LabHost, layer: Path, settings: Mapping[str, str]) -> None:
    """Write what a new host has on its own disk; `settings` go to /etc/bringup-lab, which tells that it is one."""
    write(layer, "etc/hostname", f"{host.name}\n")
    write(layer, "etc/machine-id", f"{uuid.uuid4().hex}\n", 0o444)
    key = lab.of(host.name) / "ssh_host_ed25519_key"
    write(layer, "etc/ssh/ssh_host_ed25519_key", key.read_text(), 0o600)
    write(layer, "etc/ssh/ssh_host_ed25519_key.pub", key.with_suffix(".pub").read_text())
    told = {"lab": lab.name, "host": host.name, "profile": lab.profile, **settings}
    write(layer, "etc/bringup-lab", "".join(f"{key}={value}\n" for key, value in told.items()))


def write(layer: Path, name: str, text: str | bytes, mode: int = 0o644) -> None:
    """Write one file of a layer, with its folders, whatever the umask is."""
    path = layer / name
    make_folder(layer, path.parent.relative_to(layer).as_posix())
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)


def make_folder(layer: Path, name: str, mode: int = 0o755) -> Path:
    path = layer / name
    if not path.is_dir():
        make_folder(layer, Path(name).parent.as_posix(), mode)
        path.mkdir()
        path.chmod(mode)
    return path


def empty_folder(layer: Path, name: str, mode: int = 0o755) -> None:
    """A folder that shows nothing of what this machine has in its place."""
    path = make_folder(layer, name)
    path.chmod(mode)
    os.setxattr(path, "trusted.overlay.opaque", b"y")


def hidden_by_image(path: Path) -> bool:
    """Whether hosts do not see `path` of this machine, so that it has to be bound into them."""
    inside = path.relative_to("/").as_posix()
    return path.parts[1] not in KEPT or any(f"{inside}/".startswith(f"{name}/") for name in EMPTIED)


def _foreign(root: Path) -> Iterator[str]:
    return (entry.name for entry in os.scandir(root) if entry.name not in KEPT | EMPTIED.keys())


def _hide(layer: Path, path: Path) -> None:
    if not hidden_by_image(path) and path.exists():
        name = path.relative_to("/").as_posix()
        if path.is_dir():
            empty_folder(layer, name)
        else:
            make_folder(layer, Path(name).parent.as_posix())
            _white_out(layer / name)


def _white_out(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(0, 0))


def _etc_hosts(lab: Lab) -> str:
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    lines += [f"{host.control} {host.name}" for host in lab.hosts]
    lines += [f"{host.fabric} {host.name}-fabric" for host in lab.hosts]
    return "".join(f"{line}\n" for line in lines)
