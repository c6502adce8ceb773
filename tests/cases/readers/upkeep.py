"""How the host is kept: updates, reboots, clock, C library, load, the kernel's log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inventory.facts.base import NOT_ASKED
from inventory.facts.host import HostFacts, Toolchain, Updates
from inventory.facts.numactl import parse_numactl
from inventory.facts.upkeep import (
    parse_automatic,
    parse_excluded,
    parse_glibc,
    parse_load,
    parse_oom_kills,
    parse_upgraded,
    yes_no,
)
from tests.cases.reader import Files, Reader
from tests.cases.readers.hosts import blank_system

Told = Mapping[str, Any]
APT = ("*auto-upgrades*", "*unattended-upgrades*", "apt-config*", "*dnf-automatic*")
LOGS = ("apt_history*", "dpkg_log*", "*dpkg.log*")
REBOOT = ("reboot-required*", "run_reboot-required*", "ls_boot*", "apt-mark_showhold*")
KERNEL_LOG = ("oom*", "journalctl_-k*", "dmesg*")


def _updates(files: Files, _: HostFacts) -> Told:
    apt = "\n".join(files.texts(*APT))
    log, booted = "".join(files.texts(*LOGS)), "".join(files.texts("uptime_*"))
    packages = " ".join(files.texts("*reboot-required*pkgs*")).split()
    wanted = bool(files.texts("*reboot-required*"))
    return {
        "updates": Updates(
            automatic=parse_automatic(apt) or timer_enabled(files) if apt else None,
            excluded=parse_excluded(apt),
            held=tuple(" ".join(files.texts("apt-mark_showhold*")).split()),
            wants_reboot=wanted or None,
            reboot_packages=tuple(packages),
            kernels=tuple(re.findall(r"vmlinuz-(\S+)", " ".join(files.texts("ls_boot*")))),
            upgraded_since_boot=parse_upgraded(log, booted) if log and booted else None,
        )
    }


def timer_enabled(files: Files) -> bool:
    """What `systemctl is-enabled` or `is-active` said of dnf's timer."""
    said = " ".join(files.texts("*dnf-automatic*")).split()
    return bool({"enabled", "active"} & {*said})


def _clock(files: Files, so_far: HostFacts) -> Told:
    """Seconds ahead of the control machine, and whether NTP says that it is synchronised."""
    rows = (line.split() for line in files.shared["offsets.tsv"].splitlines() if line.strip())
    told = next((row for row in rows if row[0] == files.host), None)
    if told is None:
        return {}
    system = replace(blank_system(files, so_far), clock_offset_s=float(told[1]))
    return {"system": system, "clock_synchronised": _yes(told[2]) if len(told) > 2 else NOT_ASKED}


def _yes(text: str) -> Any:  # noqa: ANN401
    found = yes_no(text.strip().rpartition("=")[2])
    return NOT_ASKED if found is None else found


def _timedatectl(files: Files, so_far: HostFacts) -> Told:
    """The offset is not in it: it counts as none."""
    text = files.texts("timedatectl*")[0]
    said = re.search(r"NTPSynchronized=(\w+)|System clock synchronized: (\w+)", text)
    return {
        "system": blank_system(files, so_far),
        "clock_synchronised": _yes(said[1] or said[2]) if said else NOT_ASKED,
    }


def _kernel(files: Files, so_far: HostFacts) -> Told:
    return {"system": replace(blank_system(files, so_far), kernel=files.texts("uname_-r*")[0].strip())}


def _boot(files: Files, so_far: HostFacts) -> Told:
    return {"system": replace(blank_system(files, so_far), boot_id=files.texts("*boot_id*")[0].strip())}


def _numa(files: Files, _: HostFacts) -> Told:
    return {"numa": parse_numactl(files.texts("numactl_-H*")[0]) or NOT_ASKED}


def _libc(files: Files, _: HostFacts) -> Told:
    return {"glibc": parse_glibc(files.texts("*ldd_--version*", "*GNU_LIBC*")[0])}


def _balancing(files: Files, _: HostFacts) -> Told:
    return {"numa_balancing": int(files.texts("*numa_balancing*")[0].split()[-1])}


def _toolchain(files: Files, _: HostFacts) -> Told:
    """`cc --version`, and what the compiler said of a small library; nothing when it made one."""
    said = "\n".join(files.texts("cc_--version.txt")).strip()
    compiler = None if not said or "not found" in said else said.partition("\n")[0]
    errors = re.findall(r"(?m)^.*error:.*$", "\n".join(files.texts("compile_*", "*cc_compile*")))
    return {"toolchain": Toolchain(compiler or ("cc" if errors else None), errors[0] if errors else "")}


def _load(files: Files, _: HostFacts) -> Told:
    return {"load": parse_load(files.texts("*loadavg*")[0], "\n".join(files.texts("ps_pcpu*")))}


READERS: tuple[Reader, ...] = (
    Reader((*APT, *LOGS, *REBOOT), _updates),
    Reader(("offsets.tsv",), _clock),
    Reader(("timedatectl*",), _timedatectl),
    Reader(("uname_-r*",), _kernel),
    Reader(("*boot_id*",), _boot),
    Reader(("*machine-id*",), lambda files, _: {"machine_digest": files.texts("*machine-id*")[0].strip()}),
    Reader(("*ldd_--version*", "*GNU_LIBC*"), _libc),
    Reader(("*numa_balancing*",), _balancing),
    Reader(("numactl_-H*",), _numa),
    Reader(("*loadavg*", "ps_pcpu*"), _load),
    Reader(("cc_--version.txt", "compile_*", "*cc_compile*"), _toolchain),
    Reader(KERNEL_LOG, lambda files, _: {"oom_kills": parse_oom_kills("\n".join(files.texts(*KERNEL_LOG)))}),
)
