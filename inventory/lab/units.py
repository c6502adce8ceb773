"""What a lab host with systemd starts: nothing that this machine has enabled, only its own sshd."""

from __future__ import annotations

from pathlib import Path

from inventory.lab.image import empty_folder, write

# Units of this machine's administrator, of its packages' init scripts, and its settings of systemd itself.
OF_THE_MACHINE = ("etc/systemd", "etc/init.d", *(f"etc/rc{level}.d" for level in "0123456S"), "etc/cron.d")
SSHD = """\
[Unit]
Description=OpenSSH server of a bringup lab host

[Service]
ExecStart=/usr/sbin/sshd -D -e
RuntimeDirectory=sshd
KillMode=process
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""
JOURNALD = "[Journal]\nStorage=volatile\nRuntimeMaxUse=64M\n"
# What makes no sense without hardware, a console or a network that comes up by itself.
MASKED = ("getty.target", "systemd-udevd.service", "systemd-resolved.service", "systemd-timesyncd.service")


def write_units(layer: Path) -> None:
    for name in OF_THE_MACHINE:
        empty_folder(layer, name)
    write(layer, "etc/fstab", "")
    write(layer, "etc/systemd/journald.conf", JOURNALD)
    write(layer, "etc/systemd/system/lab-sshd.service", SSHD)
    wants = "etc/systemd/system/multi-user.target.wants"
    empty_folder(layer, wants)
    (layer / wants / "lab-sshd.service").symlink_to("../lab-sshd.service")
    (layer / "etc/systemd/system/default.target").symlink_to("/lib/systemd/system/multi-user.target")
    for name in MASKED:
        (layer / "etc/systemd/system" / name).symlink_to("/dev/null")
