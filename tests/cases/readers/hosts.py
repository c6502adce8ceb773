"""The host itself: ssh, limits, cores, launch context."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inventory.errors import HostUnreachable
from inventory.facts.base import NOT_ASKED, is_known
from inventory.facts.control import parse_agent_keys
from inventory.facts.host import HostFacts, Software, System, Updates, Way
from inventory.facts.upkeep import (
    parse_automatic,
    parse_excluded,
    parse_glibc,
    parse_load,
    parse_oom_kills,
    parse_session,
    parse_ssh_server,
    parse_upgraded,
)
from inventory.schema import Host
from inventory.sshconfig import effective
from inventory.sshconfig import read as read_options
from inventory.transport.framing import Unframer
from inventory.transport.sshfailure import explain
from inventory.transport.sshwords import failure_kind
from tests.cases.reader import Files, Reader


def unframed(text: str, marker: str) -> tuple[str, str]:
    """What lies between the markers, and what around them. The case has its own form of the marker lines."""
    begin = re.sub(rf"^@@BEGIN-{re.escape(marker)}$", f"\n{marker} begin", text, count=1, flags=re.MULTILINE)
    framed = re.sub(rf"^@@END-{re.escape(marker)} rc=(\d+)$", rf"\n{marker} end \1", begin, count=1, flags=re.MULTILINE)
    unframer = Unframer(marker)
    unframer.feed(framed.encode())
    return unframer.body.decode(errors="replace"), unframer.noise.decode(errors="replace")


def error(host: str, own: Mapping[str, str]) -> HostUnreachable | None:
    """What ssh's words on its stderr mean; nothing when it said nothing."""
    words = own.get("stderr.txt", "")
    return explain(words, host, effective(Host(name=host))) if words.strip() else None


def _noise(files: Files, _: HostFacts) -> Mapping[str, Any]:
    return {"noise": unframed(files.own["raw_stdout.txt"], files.shared["marker.txt"].strip())[1]}


def _session(files: Files, _: HostFacts) -> Mapping[str, Any]:
    account, settings = (files.own.get(name, "") for name in ("getent_passwd.txt", "loginctl_show-user.txt"))
    return {"session": parse_session(account, settings)}


def _systemd(files: Files, so_far: HostFacts) -> Mapping[str, Any]:
    version = re.match(r"systemd (\S+)", files.own["systemctl_--version.txt"])
    blank = Software(None, None, None, None, None, None, (), ())
    software = so_far.software if is_known(so_far.software) else blank
    return {"software": replace(software, systemd=version[1] if version else None)}


def _load(files: Files, _: HostFacts) -> Mapping[str, Any]:
    return {"load": parse_load(files.own["proc_loadavg.txt"], files.own.get("ps.txt", ""))}


def _ooms(files: Files, _: HostFacts) -> Mapping[str, Any]:
    logs = [files.own[name] for name in ("oom.txt", "journalctl_-k.txt", "dmesg.txt") if name in files.own]
    return {"oom_kills": parse_oom_kills("\n".join(logs))}


UPDATES = (
    *("20auto-upgrades.txt", "50unattended-upgrades.txt", "apt-config_dump.txt", "apt-mark_showhold.txt"),
    *("reboot-required.txt", "reboot-required.pkgs.txt", "apt_history.txt", "dpkg_log.txt", "ls_boot.txt"),
)


def _updates(files: Files, _: HostFacts) -> Mapping[str, Any]:
    own = files.own
    apt = "\n".join(own[name] for name in UPDATES[:3] if name in own)
    log = own.get("apt_history.txt", "") + own.get("dpkg_log.txt", "")
    booted = own.get("uptime_since.txt", "")
    return {
        "updates": Updates(
            automatic=parse_automatic(apt) if apt else None,
            excluded=parse_excluded(apt),
            held=tuple(own.get("apt-mark_showhold.txt", "").split()),
            wants_reboot="reboot-required.txt" in own or None,
            reboot_packages=tuple(own.get("reboot-required.pkgs.txt", "").split()),
            kernels=tuple(re.findall(r"vmlinuz-(\S+)", own.get("ls_boot.txt", ""))),
            upgraded_since_boot=parse_upgraded(log, booted) if log and booted else None,
        )
    }


def _dropped(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """What each login said; only those that the server dropped before they began count."""
    dropped = sum(failure_kind(line) == "banner" for line in files.shared["events.txt"].splitlines())
    return {"way": Way("", "", "", None, dropped_logins=dropped)}


def _way(files: Files, _: HostFacts) -> Mapping[str, Any]:
    options = read_options(files.host, (), files.own["ssh_-G.txt"])
    agent = parse_agent_keys(files.own["ssh-add_-l.txt"]) if "ssh-add_-l.txt" in files.own else None
    return {
        "way": Way(
            options.target,
            options.hostname,
            options.user,
            options.port,
            jumps=tuple(f"{hop.user}@{hop.host}:{hop.port or 22}" for hop in options.proxy_jump),
            identities_only=options.identities_only,
            agent_keys=agent,
            control_path=options.control_path,
        )
    }


def _clock(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """Seconds ahead of the control machine, and whether NTP says that it is synchronised."""
    rows = (line.split("\t") for line in files.shared["offsets.tsv"].splitlines())
    told = next((row for row in rows if row[0] == files.host), None)
    if told is None:
        return {}
    system = System("", "", "other", "", "", files.host, "", "", 0, can_sudo=False, clock_offset_s=float(told[1]))
    return {"system": system, "clock_synchronised": told[2].strip() == "true" if len(told) > 2 else NOT_ASKED}


READERS: tuple[Reader, ...] = (
    Reader(("raw_stdout.txt",), _noise),
    Reader(("stderr.txt",), lambda *_: {}),
    Reader(("loginctl_show-user.txt", "getent_passwd.txt"), _session),
    Reader(("systemctl_--version.txt",), _systemd),
    Reader(("events.txt",), _dropped),
    Reader(("bastion_sshd.txt",), lambda *_: {}),  # the server's own view of the same
    Reader(("ssh_-G.txt",), _way),
    Reader(("ssh-add_-l.txt", "ls.txt"), lambda *_: {}),  # read with others; a listing beside the environment
    Reader(("sshd_-T.txt",), lambda files, _: {"ssh_server": parse_ssh_server(files.own["sshd_-T.txt"])}),
    Reader(("offsets.tsv",), _clock),
    Reader(("ldd_--version.txt",), lambda files, _: {"glibc": parse_glibc(files.own["ldd_--version.txt"])}),
    Reader(("numa_balancing.txt",), lambda files, _: {"numa_balancing": int(files.own["numa_balancing.txt"])}),
    Reader(("proc_loadavg.txt",), _load),
    Reader(("oom.txt", "journalctl_-k.txt", "dmesg.txt"), _ooms),
    Reader(UPDATES, _updates),
)
